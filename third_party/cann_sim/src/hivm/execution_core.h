// What instructions need of a core beyond what micro-kernels see (hivm::Core).
#pragma once
#include <string>

#include "hivm/micro.h"

namespace hivm {

class ExecutionCore : public Core {
 public:
  // The scalar unit worked for so many cycles.
  virtual void spend(int64_t cycles) = 0;
  // Start of a local memory; throws ExecutionError when this kind of core has none of that space.
  virtual std::byte* local_memory(Space space) = 0;
  virtual int64_t local_bytes(Space space) const = 0;
  // One element read or written by the scalar unit in global memory; checks the address and takes the time.
  virtual void scalar_load(const std::byte* begin, int64_t bytes) = 0;
  virtual void scalar_store(const std::byte* begin, int64_t bytes) = 0;

  // For the race check: whether it is on, what comes next, and one element of local memory that the scalar
  // unit touches.
  virtual bool checks_races() const = 0;
  virtual void enter(const std::string& what, int line) = 0;
  virtual void scalar_touch(Space space, const std::byte* begin, int64_t bytes, bool write) = 0;

  // Which of the two vector cores of a block this is; 0 for a cube core.
  virtual int64_t sub_block_index() const = 0;
  // Flags between cores: of this block, or with `all_blocks` of every core of this kind in the launch.
  // `source`: the pipe that has to be done first. `target`: the pipe that is held.
  virtual void set_block_flag(Pipe source, int64_t flag, bool all_blocks) = 0;
  // False when the flag was not set yet: another core has to run first.
  virtual bool wait_block_flag(Pipe target, int64_t flag, bool all_blocks) = 0;
};

}  // namespace hivm
