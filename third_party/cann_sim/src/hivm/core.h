// One core: its memory, its timeline, and its way to global memory.
#pragma once
#include "hivm/block_sync.h"
#include "hivm/code.h"
#include "hivm/execution_core.h"
#include "hivm/memory.h"
#include "hivm/race_check.h"
#include "hivm/timeline.h"
#include "hivm/traffic.h"

namespace hivm {

// Where a core stands among others.
struct CorePlace {
  CoreKind kind = CoreKind::Vector;
  int sub_block = 0;
  int member = 0;               // its number among all cores of its kind that run at the same time
  BlockFlags* block = nullptr;  // shared by the cores of its block
};

// What all cores share that run in turns on one host thread.
struct CoreContext {
  GlobalGuard& guard;
  Traffic& traffic;
  std::string& output;  // of device_print
  AllBlocks* all;       // null unless blocks meet
};

// Executes the work of micro-kernels in program order and keeps the time.
class SimulatedCore final : public ExecutionCore {
 public:
  // `code`: what it runs.
  SimulatedCore(const CorePlace& place, const Code& code, const CoreContext& context, bool check_races)
      : place_(place), code_(code), context_(context), memory_(place.kind) {
    if (check_races) races_ = std::make_unique<RaceCheck>();
  }

  // Begins a block: clean flags, time zero, and local memory filled as far as the code addresses it.
  void start_block(int64_t block);
  const CorePlace& place() const { return place_; }
  const Timeline& timeline() const { return timeline_; }

  // Core
  void check_global(const View& view) override;
  void issue(const Work& work) override;
  void set_flag(Pipe source, Pipe target, int64_t event) override {
    timeline_.set_flag(source, target, event);
    if (races_) races_->set_flag(source, target, event);
  }
  void wait_flag(Pipe source, Pipe target, int64_t event) override {
    timeline_.wait_flag(source, target, event);
    if (races_) races_->wait_flag(source, target, event);
  }
  void barrier(Pipe pipe) override {
    timeline_.barrier(pipe);
    if (races_) races_->barrier(pipe);
  }
  int64_t block_index() const override { return block_; }
  void print(int64_t text, const std::string& values) override;

  // ExecutionCore
  void spend(int64_t cycles) override;
  std::byte* local_memory(Space space) override { return memory_.start(space); }
  int64_t local_bytes(Space space) const override { return memory_.bytes(space); }
  void scalar_load(const std::byte* begin, int64_t bytes) override;
  void scalar_store(const std::byte* begin, int64_t bytes) override;
  bool checks_races() const override { return races_ != nullptr; }
  void enter(const std::string& what, int line) override { races_->enter(what, line); }
  void scalar_touch(Space space, const std::byte* begin, int64_t bytes, bool write) override {
    races_->access(Pipe::S, space, {begin, begin + bytes}, write);
  }
  int64_t sub_block_index() const override { return place_.sub_block; }
  void set_block_flag(Pipe source, int64_t flag, bool all_blocks) override;
  bool wait_block_flag(Pipe target, int64_t flag, bool all_blocks) override;
  double scalar_busy() const { return scalar_busy_; }

 private:
  const CorePlace place_;
  const Code& code_;
  const CoreContext context_;
  LocalMemory memory_;
  Timeline timeline_;
  std::unique_ptr<RaceCheck> races_;  // null unless the launch is checked
  int64_t block_ = 0;
  double scalar_busy_ = 0;
};

}  // namespace hivm
