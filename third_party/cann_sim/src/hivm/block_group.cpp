#include "hivm/block_group.h"

#include <algorithm>
#include <string>

#include "hivm/frame.h"

namespace hivm {

BlockGroup::BlockGroup(const KernelCode& kernel, const Launch& launch, int blocks, const CoreContext& context)
    : kernel_(kernel), machine_(launch.machine) {
  for (int block = 0; block < blocks; block++) {
    BlockFlags* flags = flags_.emplace_back(std::make_unique<BlockFlags>()).get();
    if (kernel.cube) add_member(*kernel.cube, launch, {CoreKind::Cube, 0, block, flags}, block, context);
    if (!kernel.vector) continue;
    const int cores = kernel.is_mixed() ? kSubBlocks : 1;
    for (int sub = 0; sub < cores; sub++)
      add_member(*kernel.vector, launch, {CoreKind::Vector, sub, block * cores + sub, flags}, block, context);
  }
}

void BlockGroup::add_member(const Code& code, const Launch& launch, const CorePlace& place, int block,
                            const CoreContext& context) {
  Member& member = members_.emplace_back();
  member.core = std::make_unique<SimulatedCore>(place, code, context, launch.check_races);
  member.block = block;
  member.frame = make_frame(code, *member.core);
  decode_arguments(code, launch, member.frame);
}

bool BlockGroup::advance(Member& member) {
  Frame& frame = member.frame;
  frame.waiting = nullptr;
  frame.trips_left = kTripsOfTurn;
  const Instruction* next = member.next;
  bool moved = false;  // not to be told from where it stands: a loop may lead back here
  for (;;) {
    frame.cycles += next->cycles;
    next = next->step(next, frame);
    if (!next) break;
    moved = true;
  }
  moved |= !frame.waiting;
  member.next = frame.waiting;
  return moved;
}

std::string BlockGroup::who(const Member& member, uint32_t first) const {
  std::string text = "block " + std::to_string(first + static_cast<uint32_t>(member.block));
  if (!kernel_.is_mixed()) return text;
  const CorePlace& place = member.core->place();
  return text +
         (place.kind == CoreKind::Cube ? " cube core" : " vector core " + std::to_string(place.sub_block));
}

// The cores take turns: each runs until it waits for a flag that is not set, or has spent its turn in a loop
// without bounds. Flags give the same times whoever comes first.
void BlockGroup::run(uint32_t first) {
  for (const auto& flags : flags_) flags->reset();
  for (Member& member : members_) {
    member.core->start_block(first + static_cast<uint32_t>(member.block));
    member.frame.cycles = 0;
    member.frame.steps_left = kMostSteps / static_cast<int64_t>(flags_.size());
    member.next = member.frame.code->instructions.data();
  }
  for (bool progress = true; progress;) {
    progress = false;
    for (Member& member : members_) {
      if (!member.next) continue;
      try {
        progress |= advance(member);
        const int left = member.next ? 0 : member.core->timeline().flags_left();
        if (left) throw ExecutionError(std::to_string(left) + " flags are still set at the end");
      } catch (const ExecutionError& error) {
        throw ExecutionError(who(member, first) + ": " + error.what());
      }
    }
  }
  for (const Member& member : members_) {
    if (member.next) {
      throw ExecutionError(who(member, first) + ": line " + std::to_string(member.next->line) +
                           ": waits for a flag that no other core sets: the kernel would hang");
    }
  }
  for (size_t block = 0; block < flags_.size(); block++) {
    if (const int left = flags_[block]->left()) {
      throw ExecutionError("block " + std::to_string(first + block) + ": " + std::to_string(left) +
                           " flags between its cores are still set at the end");
    }
  }
}

Cycles BlockGroup::end(int block) const {
  Cycles end{};
  for (const Member& member : members_) {
    if (member.block != block) continue;
    const Cycles own = member.core->timeline().end();
    for (int s = 0; s < kScenarios; s++) end[s] = std::max(end[s], own[s]);
  }
  return end;
}

void BlockGroup::add_busy(double (&pipe_busy_ns)[kPipes]) const {
  for (const Member& member : members_) {
    for (int p = 0; p < kPipes; p++)
      pipe_busy_ns[p] += machine_.nanoseconds(member.core->timeline().busy(static_cast<Pipe>(p)));
    pipe_busy_ns[static_cast<int>(Pipe::S)] += machine_.nanoseconds(member.core->scalar_busy());
  }
}

}  // namespace hivm
