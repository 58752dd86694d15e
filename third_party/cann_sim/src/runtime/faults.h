// Faults on demand: CANN_SIM_FAULTS is a comma-separated list. NAME is a kernel's entry name; with :BLOCKS
// only its launches with so many blocks are meant. [:N] means every Nth call, without it every call.
//
// clang-format off
//   compile_abort:NAME[:TEXT]  hivmc, which the compiler calls last, dies by SIGABRT for the kernel; with TEXT only
//   compile_segv:NAME[:TEXT]   if its module contains TEXT ("1024xf32"). Or it dies by SIGSEGV,
//   compile_hang:NAME[:TEXT]   or never ends
//   malloc:MIB                 device allocations above so many MiB (a fraction is allowed) fail: "out of memory"
//   malloc_nth:N               the Nth device allocation of the process fails in the same way, once
//   launch:NAME[:BLOCKS]       rtKernelLaunch of the kernel is refused. torch_npu takes that as fatal: with its task
//                              queue it drops what follows, without it the process ends (seen with 2.13.0)
//   kernel:NAME[:BLOCKS]       the kernel faults on the device: the next synchronise of its stream reports it, its
//                              output is not written
//   device:NAME[:BLOCKS]       the same, and every later call for that device is answered with that error until
//                              aclrtResetDevice
//   record[:N]                 aclrtRecordEvent fails
//   elapsed[:N]                aclrtEventElapsedTime fails
//   elapsed_zero[:N]           aclrtEventElapsedTime gives 0
//   elapsed_negative[:N]       aclrtEventElapsedTime gives the negative of the time
//   notify                     aclrtCreateNotify answers "not supported"
//   notify_lost                records of notifies are lost: every wait runs into its timeout
//   value                      aclrtValueWait and aclrtValueWrite answer "not supported"
//   prof_lost:N                a profile loses its first N kernels and operators
//   prof_doubled               a profile holds every kernel and operator twice
//   prof_extra:N               a profile holds its first N kernels and operators twice
//   prof_renamed               a profile holds every kernel and operator under a name that is not its own
//   prof_empty                 the tables of a profile have no rows
//   prof_no_data               a profile leaves no data: aclprofStart succeeds and makes no folder
//   prof_crash                 msprof dies by a signal when it exports the profile
// clang-format on
//
// An unknown entry is reported once on stderr.
#pragma once
#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cann_sim {

// Which calls of one kind fail: every Nth, counted from the first call.
class EveryNth {
 public:
  void arm(uint64_t n) { n_ = n; }
  bool hits() const { return n_ != 0 && ++calls_ % n_ == 0; }

 private:
  uint64_t n_ = 0;  // 0: none
  mutable std::atomic<uint64_t> calls_{0};
};

class Faults {
 public:
  explicit Faults(const std::string& list);
  // `number`: of the allocation within the process, from 1.
  bool allocation_fails(uint64_t bytes, uint64_t number) const {
    return bytes > allocation_limit_ || number == failing_allocation_;
  }
  bool launch_fails(const std::string& entry, uint32_t blocks) const { return means(launch_, entry, blocks); }
  bool kernel_fails(const std::string& entry, uint32_t blocks) const { return means(kernel_, entry, blocks); }
  bool device_fails(const std::string& entry, uint32_t blocks) const { return means(device_, entry, blocks); }
  // "abort", "segv", "hang" or "" for the text of a module.
  std::string compile_fault(std::string_view module) const;
  bool record_fails() const { return record_.hits(); }
  bool elapsed_fails() const { return elapsed_.hits(); }
  double elapsed_factor() const;  // 1 unless the time is to be 0 or negative
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
  struct Victim {
    std::string kernel, detail;  // detail: BLOCKS or TEXT, empty for all
    std::string fault;           // of a compilation
  };
  using Victims = std::vector<Victim>;

  bool add(const std::string& kind, const std::string& argument);
  bool add_victim(const std::string& kind, const std::string& argument);
  static bool means(const Victims& victims, const std::string& entry, uint32_t blocks);

  uint64_t allocation_limit_ = UINT64_MAX, failing_allocation_ = 0;
  Victims launch_, kernel_, device_, compile_;
  EveryNth record_, elapsed_, elapsed_zero_, elapsed_negative_;
  bool no_notify_ = false, notify_lost_ = false, no_value_ = false;
  uint64_t prof_lost_ = 0, prof_extra_ = 0;
  bool prof_renamed_ = false, prof_empty_ = false, prof_no_data_ = false, prof_crash_ = false;
};

const Faults& faults();  // those of the environment

}  // namespace cann_sim
