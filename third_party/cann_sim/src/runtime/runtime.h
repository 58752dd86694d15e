// The simulated device runtime as the other parts of libascendcl.so see it (operator engine, profiler).
//
//   aclError op(..., aclrtStream stream) {
//     Task task{TaskKind::Operator, "Add", 1, [=] { compute(); return traffic(reads, writes); }};
//     return runtime().submit(stream, std::move(task));
//   }
#pragma once
#include <acl/acl.h>

#include "runtime/config.h"
#include "runtime/errors.h"
#include "runtime/memory.h"
#include "runtime/task.h"

namespace cann_sim {

class Engine;
class TaskLog;

class Runtime {
 public:
  Runtime();
  // Puts the task behind everything submitted to the stream (nullptr: default stream of the thread's device)
  // and charges the host. Runs it at once unless the stream waits. Returns an error for an unknown stream;
  // errors of the task itself come with the next synchronise.
  aclError submit(aclrtStream stream, Task task);
  // Waits, in virtual time, for the stream; for operators whose result decides the shape of their output.
  aclError synchronize(aclrtStream stream);

  void flush_log();  // writes what the task log has buffered

  Memory& memory() { return memory_; }
  Engine& engine() { return *engine_; }

 private:
  Memory memory_;
  Engine* engine_;
  TaskLog* log_ = nullptr;
};

// The one runtime of the process. Never destroyed: torch_npu's threads may outlive static destructors.
Runtime& runtime();

// Duration of a task that streams memory: bytes over the bandwidth of HBM (cold) or L2 (warm), or
// `compute_ns` where that is longer.
Effect traffic(std::vector<Range> reads, std::vector<Range> writes, double compute_ns = 0);
// The same for clearing memory: the engine clears it, without touching real memory that is already zero.
Effect zero_traffic(std::vector<Range> zeroed);

inline Range range_of(const void* address, size_t bytes) {
  const auto begin = reinterpret_cast<uint64_t>(address);
  return {begin, begin + bytes};
}

}  // namespace cann_sim
