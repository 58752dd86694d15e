// Seeded disturbance of task durations: jitter, outliers and drift. Off by default.
#pragma once
#include <cstdint>

#include "runtime/config.h"

namespace cann_sim {

class Noise {
 public:
  explicit Noise(const Config& config);
  // The duration of the `index`-th task of a stream that starts at `start_ns`. Depends on nothing else, so
  // the interleaving of threads and streams cannot change it. At least 1 ns for a task that lasted at all.
  int64_t apply(int64_t duration_ns, int device, uint32_t stream, uint64_t index, int64_t start_ns) const;

 private:
  const bool active_;
  const uint64_t seed_;
  const double jitter_, outlier_probability_, outlier_factor_, drift_per_second_;
};

}  // namespace cann_sim
