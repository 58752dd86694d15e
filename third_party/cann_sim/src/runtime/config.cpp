#include "runtime/config.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "runtime/costs.h"
#include "runtime/soc.h"

namespace cann_sim {
namespace {

const char* text(const char* name) {
  const char* value = std::getenv(name);
  return value && *value ? value : nullptr;
}

void complain(const char* name, const char* value, const char* allowed) {
  std::fprintf(stderr, "cann_sim: %s=%s is ignored: %s expected\n", name, value, allowed);
}

// Reads one number at `at` and moves on; false if there is none or it lies outside [low, high].
bool scan(const char*& at, double low, double high, double* value) {
  char* end = nullptr;
  const double read = std::strtod(at, &end);
  if (end == at || !std::isfinite(read) || read < low || read > high) return false;
  at = end;
  *value = read;
  return true;
}

double number(const char* name, double fallback, double low, double high) {
  const char* value = text(name);
  if (!value) return fallback;
  const char* at = value;
  double read = fallback;
  if (scan(at, low, high, &read) && !*at) return read;
  char allowed[80];
  std::snprintf(allowed, sizeof allowed, "a number from %g to %g", low, high);
  complain(name, value, allowed);
  return fallback;
}

int64_t microseconds(const char* name, int64_t fallback_ns) {
  return std::llround(number(name, fallback_ns / 1e3, 0, 1e9) * 1e3);
}

Config read() {
  Config c;
  c.devices = static_cast<int>(number("CANN_SIM_DEVICES", 1, 1, 64));
  c.soc = kDefaultSoc;
  if (const char* value = text("CANN_SIM_SOC")) {
    if (const Soc* found = find_soc(value)) {
      c.soc = found->name;
    } else {
      c.problem = std::string("CANN_SIM_SOC=") + value + " is no part that is simulated; allowed are " +
                  soc_names() + " (\"Ascend\" may be left out)";
    }
  }
  const double gib = static_cast<double>(find_soc(c.soc)->memory_bytes) / (1ull << 30);
  c.memory_bytes = static_cast<uint64_t>(number("CANN_SIM_MEMORY_GIB", gib, 1e-6, 4096) * (1ull << 30));
  if (const char* path = text("CANN_SIM_TASK_LOG")) c.task_log = path;
  c.host_launch_ns = microseconds("CANN_SIM_HOST_LAUNCH_US", costs::kHostLaunchNs);
  c.host_submit_ns = microseconds("CANN_SIM_HOST_SUBMIT_US", costs::kHostSubmitNs);
  c.host_sync_ns = microseconds("CANN_SIM_HOST_SYNC_US", costs::kHostSyncNs);
  c.seed = static_cast<uint64_t>(number("CANN_SIM_SEED", 0, 0, 1e15));
  c.jitter = number("CANN_SIM_JITTER", 0, 0, 1);
  c.drift_per_second = number("CANN_SIM_DRIFT", 0, -1, 1000);
  c.blocked_wait_ms = static_cast<int64_t>(number("CANN_SIM_BLOCKED_WAIT_MS", 1000, 0, 1e6));
  c.check_races = number("CANN_SIM_CHECK_RACES", 0, 0, 1) != 0;
  if (const char* value = text("CANN_SIM_OUTLIERS")) {
    const char* at = value;
    double p = 0, factor = 1;
    if (scan(at, 0, 1, &p) && *at++ == ',' && scan(at, 0, 1e6, &factor) && !*at) {
      c.outlier_probability = p;
      c.outlier_factor = factor;
    } else {
      complain("CANN_SIM_OUTLIERS", value, "PROBABILITY,FACTOR (a probability and a factor from 0 to 1e6)");
    }
  }
  if (const char* value = text("CANN_SIM_FAULTS")) c.faults = value;
  return c;
}

}  // namespace

const Config& config() {
  static const Config* const once = new Config(read());
  return *once;
}

}  // namespace cann_sim
