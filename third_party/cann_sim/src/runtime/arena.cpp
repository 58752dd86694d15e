#include "runtime/arena.h"

#include <sys/mman.h>
#include <unistd.h>

namespace cann_sim {

uint64_t page_bytes() {
  static const auto bytes = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

uint64_t whole_pages(uint64_t bytes) { return (bytes + page_bytes() - 1) / page_bytes() * page_bytes(); }

Arena::Arena(uint64_t capacity) : capacity_(whole_pages(capacity)) {
  void* p =
      mmap(nullptr, capacity_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED) return;
  // The profiler's analysis forks a dozen times; copying the page tables of device memory would take seconds.
  madvise(p, capacity_, MADV_DONTFORK);
  base_ = reinterpret_cast<uint64_t>(p);
  gaps_[base_] = base_ + capacity_;
}

Arena::~Arena() {
  if (reserved()) munmap(reinterpret_cast<void*>(base_), capacity_);
}

uint64_t Arena::allocate(uint64_t bytes) {
  if (bytes > capacity_) return kNone;
  bytes = whole_pages(bytes);
  for (auto gap = gaps_.begin(); gap != gaps_.end(); ++gap) {
    const auto [begin, end] = *gap;
    if (end - begin < bytes) continue;
    gaps_.erase(gap);
    if (begin + bytes < end) gaps_[begin + bytes] = end;
    used_ += bytes;
    return begin;
  }
  return kNone;
}

void Arena::release(uint64_t begin, uint64_t bytes) {
  bytes = whole_pages(bytes);
  madvise(reinterpret_cast<void*>(begin), bytes, MADV_DONTNEED);  // reads as zero from now on
  used_ -= bytes;
  uint64_t end = begin + bytes;
  auto after = gaps_.lower_bound(begin);
  if (after != gaps_.end() && after->first == end) {
    end = after->second;
    after = gaps_.erase(after);
  }
  if (after != gaps_.begin()) {
    const auto before = std::prev(after);
    if (before->second == begin) {
      before->second = end;
      return;
    }
  }
  gaps_[begin] = end;
}

}  // namespace cann_sim
