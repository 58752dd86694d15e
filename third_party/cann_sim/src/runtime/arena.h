// The address range of one device's memory.
//
// One reservation with a first-fit allocator, rather than one mapping for each allocation: where the system
// puts mappings differs from run to run, and the order of two tensors' addresses decides which one L2 evicts
// first. Here the same calls give the same offsets.
#pragma once
#include <cstdint>
#include <map>

namespace cann_sim {

class Arena {
 public:
  static constexpr uint64_t kNone = 0;

  explicit Arena(uint64_t capacity);
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  bool reserved() const { return base_ != kNone; }  // false: the system refuses the range
  // Zeroed memory of `bytes` bytes, rounded up to pages; kNone if there is no gap that large.
  uint64_t allocate(uint64_t bytes);
  // Gives the pages back to the system. `bytes` as passed to allocate().
  void release(uint64_t begin, uint64_t bytes);
  uint64_t capacity() const { return capacity_; }
  uint64_t used() const { return used_; }

 private:
  const uint64_t capacity_;  // whole pages
  uint64_t base_ = kNone, used_ = 0;
  std::map<uint64_t, uint64_t> gaps_;  // begin -> end; neighbours are joined
};

uint64_t page_bytes();
uint64_t whole_pages(uint64_t bytes);

}  // namespace cann_sim
