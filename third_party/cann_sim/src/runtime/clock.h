// The host's virtual time: one clock per process, moved only by calls into the library. No wall time enters
// it.
#pragma once
#include <algorithm>
#include <cstdint>

namespace cann_sim {

class HostClock {
 public:
  int64_t now() const { return now_; }
  int64_t spend(int64_t ns) { return now_ += ns; }                          // the host works
  int64_t join(int64_t time_ns) { return now_ = std::max(now_, time_ns); }  // the host waits until then

 private:
  int64_t now_ = 0;
};

}  // namespace cann_sim
