#include "hivm/block_sync.h"

#include <algorithm>
#include <string>

#include "hivm/cost_model.h"

namespace hivm {
namespace {

void join(Cycles& time, const Cycles& other) {
  for (int s = 0; s < kScenarios; s++) time[s] = std::max(time[s], other[s]);
}

}  // namespace

std::deque<Cycles>& BlockFlags::queue(Queues& queues, int sub_block, int64_t flag) {
  if (flag < 0 || flag >= kFlags)
    throw ExecutionError("block flag " + std::to_string(flag) + "; there are 0 to " +
                         std::to_string(kFlags - 1));
  return queues[sub_block][flag];
}

void BlockFlags::set(CoreKind setter, int sub_block, int64_t flag, const Cycles& time) {
  const bool cube = setter == CoreKind::Cube;
  for (int s = cube ? 0 : sub_block; s < (cube ? kSubBlocks : sub_block + 1); s++) {
    std::deque<Cycles>& counts = queue(cube ? to_vector_ : to_cube_, s, flag);
    if (static_cast<int>(counts.size()) == cost::kBlockFlagCount) {
      throw ExecutionError("block flag " + std::to_string(flag) + " is set more than " +
                           std::to_string(cost::kBlockFlagCount) + " times without a wait");
    }
    counts.push_back(time);
  }
}

bool BlockFlags::take(CoreKind waiter, int sub_block, int64_t flag, Cycles& time) {
  time = Cycles{};
  if (waiter == CoreKind::Vector) {
    std::deque<Cycles>& counts = queue(to_vector_, sub_block, flag);
    if (counts.empty()) return false;
    time = counts.front();
    counts.pop_front();
    return true;
  }
  for (int s = 0; s < kSubBlocks; s++) {
    if (queue(to_cube_, s, flag).empty()) return false;
  }
  for (int s = 0; s < kSubBlocks; s++) {
    std::deque<Cycles>& counts = queue(to_cube_, s, flag);
    join(time, counts.front());
    counts.pop_front();
  }
  return true;
}

int BlockFlags::left() const {
  size_t left = 0;
  for (const Queues* queues : {&to_vector_, &to_cube_}) {
    for (const auto& flags : *queues) {
      for (const auto& counts : flags) left += counts.size();
    }
  }
  return static_cast<int>(left);
}

void BlockFlags::reset() {
  to_vector_ = Queues();
  to_cube_ = Queues();
}

AllBlocks::Meeting& AllBlocks::meeting(CoreKind kind, int64_t flag) {
  Meeting& m = meetings_[static_cast<int>(kind)][flag];
  if (m.sets.empty()) {
    m.sets.resize(members_[static_cast<int>(kind)]);
    m.waits.resize(m.sets.size());
  }
  return m;
}

void AllBlocks::set(CoreKind kind, int member, int64_t flag, const Cycles& time) {
  meeting(kind, flag).sets[member].push_back(time);
}

bool AllBlocks::take(CoreKind kind, int member, int64_t flag, Cycles& time) {
  Meeting& m = meeting(kind, flag);
  const size_t number = m.waits[member];
  time = Cycles{};
  for (const std::vector<Cycles>& sets : m.sets) {
    if (sets.size() <= number) return false;
    join(time, sets[number]);
  }
  m.waits[member]++;
  return true;
}

}  // namespace hivm
