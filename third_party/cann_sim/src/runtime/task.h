// What a stream executes, and what the engine remembers of it.
#pragma once
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "hivm/kernel.h"

namespace cann_sim {

using hivm::Range;  // [begin, end) of addresses

enum class TaskKind : uint8_t {
  Kernel,
  Operator,
  Copy,
  Fill,
  EventRecord,
  EventWait,
  NotifyRecord,
  NotifyWait,
  ValueWrite,
  ValueWait,
};
const char* name_of(TaskKind kind);

// What a task did once it ran. The engine stamps `writes` (unless the task says `stamped`), clears `zeroed`
// itself (the task must not touch those bytes), moves all ranges through L2 and lets the task last cold_ns *
// (1 - f) + warm_ns * f, f being the part of `reads` that L2 held before (0 if nothing is read). Ranges
// outside device memory are allowed and ignored.
struct Effect {
  std::vector<Range> reads, writes, zeroed;
  double cold_ns = 0, warm_ns = 0;
  bool stamped = false;  // the task has told Memory about its writes, or wrote what was there already
  double pipe_busy_ns[hivm::kPipes] = {};  // kernels only; for the profiler
  bool repeatable = true;                  // running the task again could be left out if nothing changed
  bool reused = false;                     // it was left out: everything is as an earlier launch left it
};

// `run` computes on memory. It is called once, in stream order, possibly long after submit() returned (when
// the stream waits for a notify), so it must own everything it uses. It runs under the engine's lock: it must
// not call the runtime except Memory. It may throw DeviceError; the error then belongs to the stream and is
// returned by its next synchronise.
struct Task {
  TaskKind kind = TaskKind::Operator;
  std::string name;
  uint32_t blocks = 1;
  std::function<Effect()> run;
  // Called before submit() returns if the task cannot run at once: to copy what the caller may change as soon
  // as the call is over.
  std::function<void()> keep = nullptr;
};

class DeviceError : public std::runtime_error {
 public:
  DeviceError(int code, const std::string& message) : runtime_error(message), code_(code) {}
  int code() const { return code_; }
  bool loses_device = false;  // the device answers every later call with this error, until it is reset

 private:
  int code_;  // an aclError
};

// A task whose times are known, as the log and the profiler see it. Times are virtual nanoseconds.
struct TaskRecord {
  uint64_t sequence = 0;  // order of submission within the process, from 0
  int32_t device = 0;
  uint32_t stream = 0;  // small number, 0 = default stream
  TaskKind kind = TaskKind::Operator;
  std::string name;
  uint64_t object = 0;  // number of the event or notify; 0 for the other kinds
  uint32_t blocks = 0;
  bool reused = false;  // a launch that was recognised, not executed
  int64_t submit_ns = 0, start_ns = 0, end_ns = 0;
  int64_t host_ns = 0;     // what the submitting call cost the host; it ended at submit_ns
  uint32_t thread_id = 0;  // of the submitting thread, as the kernel numbers it
  std::string thread_name;
  double pipe_busy_ns[hivm::kPipes] = {};
};

class TaskListener {
 public:
  virtual ~TaskListener() = default;
  // Both are called under the engine's lock. `submitted`: on the submitting thread, before the task runs; its
  // start and end are not known yet.
  virtual void submitted(const TaskRecord&) {}
  virtual void resolved(const TaskRecord& record) = 0;
};

}  // namespace cann_sim
