// Flags between cores: of the cube core and the two vector cores of one block, and of all blocks.
//
// A flag is a counter, with a time for each count. Every counter has one core that sets it and one that
// waits, so what a wait gets does not depend on the order in which the simulator runs the cores.
#pragma once
#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <vector>

#include "hivm/core_kind.h"
#include "hivm/timeline.h"

namespace hivm {

inline constexpr int kSubBlocks = 2;  // vector cores of a block of a mixed kernel

// sync_block_set and sync_block_wait inside a block: the cube sets for both vector cores; it waits for both.
class BlockFlags {
 public:
  // Throw ExecutionError for a flag that does not exist or that overflows.
  void set(CoreKind setter, int sub_block, int64_t flag, const Cycles& time);
  // Takes one count back and tells since when it was there; false when there is none yet.
  bool take(CoreKind waiter, int sub_block, int64_t flag, Cycles& time);
  int left() const;  // counts that nobody waited for
  void reset();

 private:
  static constexpr int kFlags = 16;
  // By the vector core at one end, and number.
  using Queues = std::array<std::array<std::deque<Cycles>, kFlags>, kSubBlocks>;
  static std::deque<Cycles>& queue(Queues& queues, int sub_block, int64_t flag);
  Queues to_vector_, to_cube_;
};

// The same with INTER_BLOCK_SYNCHRONIZATION: all cores of one kind, over all blocks of the launch, meet.
class AllBlocks {
 public:
  // `members`: how many cores of each kind the launch has, by CoreKind.
  explicit AllBlocks(std::array<int, 2> members) : members_(members) {}
  void set(CoreKind kind, int member, int64_t flag, const Cycles& time);
  // The n-th wait of a member passes when every member has set n times; false when not yet.
  bool take(CoreKind kind, int member, int64_t flag, Cycles& time);

 private:
  struct Meeting {
    std::vector<std::vector<Cycles>> sets;  // times, by member
    std::vector<size_t> waits;              // passed, by member
  };
  Meeting& meeting(CoreKind kind, int64_t flag);

  std::array<int, 2> members_;
  std::map<int64_t, Meeting> meetings_[2];  // by kind, flag
};

}  // namespace hivm
