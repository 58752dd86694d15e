// The cores that run together: one for a plain kernel, a cube core and two vector cores for a block of a
// mixed one, those of all blocks where blocks wait for each other.
#pragma once
#include <memory>
#include <vector>

#include "hivm/code.h"
#include "hivm/core.h"

namespace hivm {

class BlockGroup {
 public:
  // Cores for `blocks` blocks of the kernel at the same time.
  BlockGroup(const KernelCode& kernel, const Launch& launch, int blocks, const CoreContext& context);

  // Runs blocks first, first + 1, ... to their end; throws ExecutionError, also when cores wait for each
  // other.
  void run(uint32_t first);
  // When the last core of the n-th block of the last run was done.
  Cycles end(int block) const;
  // Adds how long each pipe of all cores was busy in the last run, in nanoseconds.
  void add_busy(double (&pipe_busy_ns)[kPipes]) const;

 private:
  struct Member {
    std::unique_ptr<SimulatedCore> core;
    int block = 0;  // among those that run at the same time
    Frame frame;
    const Instruction* next = nullptr;
  };
  void add_member(const Code& code, const Launch& launch, const CorePlace& place, int block,
                  const CoreContext& context);
  bool advance(Member& member);  // false: it waits where it waited before
  std::string who(const Member& member, uint32_t first) const;

  const KernelCode& kernel_;
  const Machine machine_;
  std::vector<std::unique_ptr<BlockFlags>> flags_;  // by block
  std::vector<Member> members_;
};

}  // namespace hivm
