// CANN_SIM_TASK_LOG: one JSON line per task, in the order in which the times became known.
//
//   {"sequence": 12, "device": 0, "stream": 1, "kind": "kernel", "name": "add_kernel", "object": 0,
//    "blocks": 8, "reused": false, "host": 5000, "submit": 81000, "start": 84500, "end": 91200,
//    "thread": "acl_thread"}
//
// kind: task.h, name_of(). object: number of the event or notify. reused: a launch that was recognised, not
// executed (launch_cache.h). submit, start, end: virtual nanoseconds;
// the call that submitted it took the host nanoseconds before submit. stream 4294967295: the host's own
// copies (aclrtMemcpy, aclrtMemset). `triton-ascend-tune sim trace` makes a Chrome trace of it.
#pragma once
#include <sys/types.h>

#include <string>

#include "runtime/task.h"

namespace cann_sim {

// Buffers lines; Runtime::flush_log() writes them out at aclFinalize and at exit. A forked child writes
// nothing.
class TaskLog final : public TaskListener {
 public:
  explicit TaskLog(const std::string& path);
  ~TaskLog() override;
  TaskLog(const TaskLog&) = delete;
  TaskLog& operator=(const TaskLog&) = delete;
  void resolved(const TaskRecord& record) override;
  void flush();

 private:
  int file_ = -1;
  pid_t owner_;
  std::string buffer_;
};

}  // namespace cann_sim
