// One core: its memory, its timeline, and its way to global memory.
#pragma once
#include "hivm/execution_core.h"
#include "hivm/memory.h"
#include "hivm/timeline.h"
#include "hivm/traffic.h"

namespace hivm {

// Executes the work of micro-kernels in program order and keeps the time. A cube core will be a second kind
// with L1 and L0C; several cores of one block will share a Traffic and a GlobalGuard as the blocks do now.
class SimulatedCore final : public ExecutionCore {
 public:
  SimulatedCore(LocalMemory::Kind kind, GlobalGuard& guard, Traffic& traffic)
      : memory_(kind), guard_(guard), traffic_(traffic) {}

  // Begins a block: clean flags and time zero. `local_bytes`: by Space, how much to fill (see
  // LocalMemory::fill).
  void start_block(int64_t block, const std::array<int64_t, 4>& local_bytes);
  const Timeline& timeline() const { return timeline_; }

  // Core
  void check_global(const View& view) override;
  void issue(const Work& work) override;
  void set_flag(Pipe source, Pipe target, int64_t event) override {
    timeline_.set_flag(source, target, event);
  }
  void wait_flag(Pipe source, Pipe target, int64_t event) override {
    timeline_.wait_flag(source, target, event);
  }
  void barrier(Pipe pipe) override { timeline_.barrier(pipe); }
  int64_t block_index() const override { return block_; }

  // ExecutionCore
  void spend(int64_t cycles) override;
  std::byte* local_memory(Space space) override { return memory_.start(space); }
  int64_t local_bytes(Space space) const override { return memory_.bytes(space); }
  void scalar_load(const std::byte* begin, int64_t bytes) override;
  void scalar_store(const std::byte* begin, int64_t bytes) override;
  double scalar_busy() const { return scalar_busy_; }

 private:
  LocalMemory memory_;
  GlobalGuard& guard_;
  Traffic& traffic_;
  Timeline timeline_;
  int64_t block_ = 0;
  double scalar_busy_ = 0;
};

}  // namespace hivm
