// The L2 cache of one device: which addresses it holds, oldest use evicted first.
#pragma once
#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "hivm/kernel.h"

namespace cann_sim {

// Works on address intervals, so that streaming 192 MiB is one step. Fully associative; ranges are rounded
// outwards to lines.
class L2Cache {
 public:
  L2Cache(uint64_t capacity, uint64_t line) : capacity_(capacity), line_(line) {}

  // The part of the ranges' bytes that is held, 0..1; 0 when they are empty.
  double resident(const std::vector<hivm::Range>& ranges) const;
  // Uses the ranges, in order. Of a range larger than the cache its end stays.
  void touch(const std::vector<hivm::Range>& ranges);
  uint64_t held() const { return held_; }

 private:
  struct Piece {
    uint64_t end = 0, tick = 0;
  };
  using Map = std::map<uint64_t, Piece>;  // by begin

  hivm::Range lines(hivm::Range range) const;
  void drop(hivm::Range range);
  void insert(hivm::Range range);
  void evict();
  Map::const_iterator first_over(uint64_t address) const;

  const uint64_t capacity_, line_;
  Map pieces_;
  std::set<std::pair<uint64_t, uint64_t>> by_age_;  // (tick, begin)
  uint64_t held_ = 0, tick_ = 0;
};

}  // namespace cann_sim
