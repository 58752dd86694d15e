// Which tasks a profile saw, and what launchers said about them.
//
// The engine tells when a task was submitted and when its times are known. A launcher reports afterwards, on
// the same thread: "I was launching NAME from t0 to t1", then the kernel's type, core and blocks with the
// time t1. So a report belongs to the kernels that its thread submitted in [t0, t1] and that no report has
// claimed yet.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/task.h"

namespace cann_sim::profiling {

struct TensorInfo {
  bool output = false;
  uint32_t format = 0, type = 0;  // GeFormat, GeDataType
  std::vector<uint32_t> shape;
};

struct ProfiledTask {
  TaskRecord record;
  int64_t real_ns = 0;    // CLOCK_MONOTONIC_RAW when it was submitted: torch_npu stamps its own records so
  int64_t call_ns = 0;    // virtual time that the launching call took; 0 if nothing was reported
  bool resolved = false;  // the times of `record` are known
  // By the launcher; empty or -1 where it said nothing.
  std::string name, type;
  int core = -1;           // MsprofGeTaskType
  uint32_t block_dim = 0;  // blocks, and above bit 16 how many vector cores go with a cube core
  std::vector<TensorInfo> tensors;
};

// All functions need the engine's lock.
class Recorder final : public TaskListener {
 public:
  void begin(std::vector<int32_t> devices);
  std::vector<ProfiledTask> end();  // what was resolved, in order of submission
  bool active() const { return active_; }

  void submitted(const TaskRecord& record) override;
  void resolved(const TaskRecord& record) override;

  void report_launch(uint32_t thread, int64_t begin_ns, int64_t end_ns, const std::string& name);
  void report_node(uint32_t thread, int64_t time_ns, const std::string& name, const std::string& type,
                   int core, uint32_t block_dim);
  void report_tensors(uint32_t thread, int64_t time_ns, std::vector<TensorInfo> tensors);

 private:
  ProfiledTask* last_reported(uint32_t thread, int64_t time_ns);

  bool active_ = false;
  std::vector<int32_t> devices_;
  std::vector<ProfiledTask> tasks_;  // by sequence
};

}  // namespace cann_sim::profiling
