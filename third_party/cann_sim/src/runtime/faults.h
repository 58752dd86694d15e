// Faults on demand: CANN_SIM_FAULTS is a comma-separated list of
//
// * malloc:MIB: device allocations above so many MiB (a fraction is allowed) fail with "out of memory"
// * launch:NAME: rtKernelLaunch of the kernel with this entry name is refused. torch_npu takes that as fatal:
// with
//   its task queue it drops what follows, without it the process ends (seen with 2.13.0)
// * kernel:NAME: the kernel faults on the device: the next synchronise of its stream reports it, its output
// is not
//   written
// * notify: aclrtCreateNotify answers "not supported"
// * notify_lost: records of notifies are lost: every wait runs into its timeout
// * value: aclrtValueWait and aclrtValueWrite answer "not supported"
// * prof_lost:N: a profile loses its first N kernels and operators
// * prof_doubled: a profile holds every kernel and operator twice
// * prof_extra:N: a profile holds its first N kernels and operators twice
// * prof_renamed: a profile holds every kernel and operator under a name that is not its own
// * prof_empty: the tables of a profile have no rows
// * prof_no_data: a profile leaves no data: aclprofStart succeeds and makes no folder
// * prof_crash: msprof dies by a signal when it exports the profile
//
// An unknown entry is reported once on stderr.
#pragma once
#include <cstdint>
#include <set>
#include <string>

namespace cann_sim {

class Faults {
 public:
  explicit Faults(const std::string& list);
  bool allocation_fails(uint64_t bytes) const { return bytes > allocation_limit_; }
  bool launch_fails(const std::string& entry) const { return launch_.count(entry) != 0; }
  bool kernel_fails(const std::string& entry) const { return kernel_.count(entry) != 0; }
  bool no_notify() const { return no_notify_; }
  bool notify_lost() const { return notify_lost_; }
  bool no_value() const { return no_value_; }
  uint64_t prof_lost() const { return prof_lost_; }
  uint64_t prof_extra() const { return prof_extra_; }
  bool prof_renamed() const { return prof_renamed_; }
  bool prof_empty() const { return prof_empty_; }
  bool prof_no_data() const { return prof_no_data_; }
  bool prof_crash() const { return prof_crash_; }

 private:
  bool add(const std::string& kind, const std::string& argument);

  uint64_t allocation_limit_ = UINT64_MAX;
  std::set<std::string> launch_, kernel_;
  bool no_notify_ = false, notify_lost_ = false, no_value_ = false;
  uint64_t prof_lost_ = 0, prof_extra_ = 0;
  bool prof_renamed_ = false, prof_empty_ = false, prof_no_data_ = false, prof_crash_ = false;
};

const Faults& faults();  // those of the environment

}  // namespace cann_sim
