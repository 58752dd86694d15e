// Every environment variable of the simulated runtime, read once at the first use and nowhere else.
//
// clang-format off
//   variable                  default  meaning
//   CANN_SIM_DEVICES          1        number of devices, 1..64
//   CANN_SIM_SOC              910B3    the part, see soc.cpp; a name that is none lets aclInit fail
//   CANN_SIM_MEMORY_GIB       soc.cpp  capacity of each device, GiB (may be a fraction)
//   CANN_SIM_TASK_LOG         -        file that gets one JSON line per task
//   CANN_SIM_HOST_LAUNCH_US   costs.h  host time of one kernel or operator launch, microseconds
//   CANN_SIM_HOST_SUBMIT_US   costs.h  host time of every other submission (record, wait, async copy and fill)
//   CANN_SIM_HOST_SYNC_US     costs.h  host time of one synchronise
//   CANN_SIM_SEED             0        seed of everything random
//   CANN_SIM_JITTER           0        relative standard deviation of the durations of kernels, operators, copies, fills
//   CANN_SIM_OUTLIERS         -        PROBABILITY,FACTOR: so many of these tasks last FACTOR times as long
//   CANN_SIM_DRIFT            0        relative change of durations per virtual second (0.01: 1 % slower after one second)
//   CANN_SIM_BLOCKED_WAIT_MS  1000     real time that a synchronise on a blocked stream leaves other threads to release it
//   CANN_SIM_CHECK_RACES      0        1: a kernel fails where no flag or barrier orders two accesses to local memory
//   CANN_SIM_FAULTS           -        faults on demand, see faults.h
// clang-format on
//
// A value that cannot be read is reported once on stderr and the default is used: aclInit must not fail for a
// typing error in a test's environment, and the process has no other way to say it. Not so CANN_SIM_SOC:
// kernels would be compiled, measured and stored for another part than the one asked for.
#pragma once
#include <cstdint>
#include <string>

namespace cann_sim {

struct Config {
  int devices = 1;
  std::string soc;      // the name of an entry of soc.cpp
  std::string problem;  // why aclInit fails; empty if it does not
  uint64_t memory_bytes = 0;
  std::string task_log;
  int64_t host_launch_ns = 0, host_submit_ns = 0, host_sync_ns = 0;
  uint64_t seed = 0;
  double jitter = 0;
  double outlier_probability = 0, outlier_factor = 1;
  double drift_per_second = 0;
  int64_t blocked_wait_ms = 0;
  bool check_races = false;
  std::string faults;
};

const Config& config();

}  // namespace cann_sim
