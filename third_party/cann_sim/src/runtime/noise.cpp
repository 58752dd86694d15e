#include "runtime/noise.h"

#include <algorithm>
#include <cmath>

namespace cann_sim {
namespace {

uint64_t splitmix(uint64_t& state) {
  uint64_t z = (state += 0x9E3779B97F4A7C15);
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  return z ^ (z >> 31);
}

double uniform(uint64_t& state) {
  return (static_cast<double>(splitmix(state) >> 11) + 0.5) * 0x1p-53;
}  // in (0, 1)

}  // namespace

Noise::Noise(const Config& c)
    : active_(c.jitter > 0 || c.outlier_probability > 0 || c.drift_per_second != 0),
      seed_(c.seed),
      jitter_(c.jitter),
      outlier_probability_(c.outlier_probability),
      outlier_factor_(c.outlier_factor),
      drift_per_second_(c.drift_per_second) {}

int64_t Noise::apply(int64_t duration_ns, int device, uint32_t stream, uint64_t index,
                     int64_t start_ns) const {
  if (!active_ || duration_ns <= 0) return duration_ns;
  uint64_t state = seed_;
  state ^= splitmix(state) + static_cast<uint64_t>(device);
  state ^= splitmix(state) + stream;
  state ^= splitmix(state) + index;
  const double u = uniform(state), v = uniform(state), w = uniform(state);
  const double normal = std::sqrt(-2 * std::log(u)) * std::cos(2 * M_PI * v);  // Box-Muller
  double factor = std::max(0.05, 1 + jitter_ * normal);
  if (w < outlier_probability_) factor *= outlier_factor_;
  factor *= std::max(0.05, 1 + drift_per_second_ * static_cast<double>(start_ns) * 1e-9);
  return std::max<int64_t>(1, std::llround(static_cast<double>(duration_ns) * factor));
}

}  // namespace cann_sim
