// Which global memory a launch touches: for the durations (what misses L2) and for the runtime (what it read
// and wrote).
#pragma once
#include <array>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "hivm/cost_model.h"
#include "hivm/kernel.h"
#include "hivm/view.h"

namespace hivm {

// A set of byte ranges. Ranges that are at most `gap` bytes apart are joined.
class RangeSet {
 public:
  explicit RangeSet(uint64_t gap) : gap_(gap) {}
  void add(uint64_t begin, uint64_t end) {
    if (begin >= largest_.begin && end <= largest_.end) return;
    if (!ranges_.empty() && begin <= ranges_.back().end && end >= ranges_.back().begin) {
      Range& last = ranges_.back();
      if (begin < last.begin) last.begin = begin;
      if (end > last.end) last.end = end;
      return;
    }
    ranges_.push_back({begin, end});
    if (ranges_.size() >= limit_) compact();
  }
  // Sorted, without overlap. The set is empty afterwards.
  std::vector<Range> take();

 private:
  void compact();
  static constexpr size_t kSmallest = 1024;
  uint64_t gap_;
  std::vector<Range> ranges_;
  Range largest_;  // of those known at the last compact(): where a gather mostly goes
  size_t limit_ = kSmallest;
};

// The L2 lines that were touched in this launch.
class LineSet {
 public:
  // Marks the lines of [begin, end) and returns how many were not marked yet.
  int64_t touch(uint64_t begin, uint64_t end);
  // Marks all lines of another set; returns how many were not marked yet.
  int64_t merge(const LineSet& other);

 private:
  static constexpr uint64_t kLinesPerPage = 1 << 14;
  using Page = std::array<uint64_t, kLinesPerPage / 64>;
  std::unordered_map<uint64_t, Page> pages_;
  uint64_t last_number_ = ~0ull;
  Page* last_ = nullptr;  // stays valid: the map does not move its elements
};

// Bytes that this launch has written, in whole blocks of 32 bytes: reading them again takes nothing from
// outside.
class WrittenBlocks {
 public:
  void add(uint64_t begin, uint64_t end);
  bool contains(uint64_t begin, uint64_t end);

 private:
  static constexpr uint64_t kBlocksPerPage = 1 << 15;  // a page covers 1 MiB
  using Page = std::array<uint64_t, kBlocksPerPage / 64>;
  // f(word, mask) for the bits of each word that blocks [first, last) take up; stops when f returns false.
  template <class F>
  static bool each_word(Page& page, uint64_t first, uint64_t last, F&& f);
  std::unordered_map<uint64_t, Page> pages_;
};

// One transfer between a core and global memory.
struct Transfer {
  int64_t bursts = 0;   // contiguous pieces
  int64_t bytes = 0;    // moved, each burst in whole blocks of 32 bytes
  int64_t missing = 0;  // L2 lines touched for the first time in this launch
};

class Traffic {
 public:
  Transfer read(const View& view) { return move(view, kRead); }
  Transfer write(const View& view) { return move(view, kWrite); }
  Transfer read(const std::byte* begin, int64_t bytes) { return move(begin, bytes, kRead); }
  Transfer write(const std::byte* begin, int64_t bytes) { return move(begin, bytes, kWrite); }
  // Adds another part of the same launch.
  void merge(Traffic& other);

  int64_t total_bytes() const { return bytes_; }
  int64_t total_missing() const { return missing_; }
  // What the launch depends on: without what it had written itself (a workspace, say).
  std::vector<Range> reads() { return reads_.take(); }
  std::vector<Range> writes() { return writes_.take(); }

 private:
  enum Direction { kRead, kWrite };
  Transfer move(const View& view, Direction direction);
  Transfer move(const std::byte* begin, int64_t bytes, Direction direction);
  void burst(uint64_t begin, uint64_t end, Direction direction, Transfer& transfer);

  LineSet lines_;
  WrittenBlocks written_;
  // Writes are exact. Reads may be reported with small gaps filled: a gather would give hundreds of thousands
  // of ranges, and a gap of one L2 line lies in pages that were touched anyway.
  RangeSet reads_{cost::kL2LineBytes}, writes_{0};
  int64_t bytes_ = 0, missing_ = 0;
};

}  // namespace hivm
