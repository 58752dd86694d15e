// What is known about the content of device memory: an interval map from addresses to content stamps.
#pragma once
#include <cstdint>
#include <map>
#include <vector>

#include "hivm/kernel.h"

namespace cann_sim {

using Stamp = uint64_t;
inline constexpr Stamp kZero = 0;  // every byte of the interval is zero

// Stamps grow with every write, so equal stamps mean that nothing was written in between; all zero bytes
// share kZero. Neighbours with equal stamps are one interval. Addresses outside every interval are not device
// memory and are skipped.
class Content {
 public:
  void add(hivm::Range range);     // new memory: zero
  void remove(hivm::Range range);  // memory given back
  void set(hivm::Range range, Stamp stamp);
  Stamp next_stamp() { return ++last_; }

  bool is_zero(hivm::Range range) const;  // false if a part is not device memory
  // The parts of `range` that are device memory and not known to be zero.
  std::vector<hivm::Range> nonzero(hivm::Range range) const;
  // A number that depends on the addresses and stamps of the ranges only.
  uint64_t signature(const std::vector<hivm::Range>& ranges) const;
  size_t intervals() const { return map_.size(); }

 private:
  struct Interval {
    uint64_t end = 0;
    Stamp stamp = kZero;
  };
  using Map = std::map<uint64_t, Interval>;  // by begin

  Map::iterator split(
      uint64_t address);  // first interval that begins at or after `address`, after cutting one that spans it
  Map::const_iterator first_over(uint64_t address) const;  // first interval that ends after `address`
  Map::iterator merge_with_previous(Map::iterator at);

  Map map_;
  Stamp last_ = kZero;
};

}  // namespace cann_sim
