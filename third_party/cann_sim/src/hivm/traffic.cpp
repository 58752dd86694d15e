#include "hivm/traffic.h"

#include <algorithm>

namespace hivm {

void RangeSet::compact() {
  std::sort(ranges_.begin(), ranges_.end(), [](const Range& a, const Range& b) { return a.begin < b.begin; });
  size_t kept = 0;
  for (size_t i = 1; i < ranges_.size(); i++) {
    if (ranges_[i].begin <= ranges_[kept].end + gap_)
      ranges_[kept].end = std::max(ranges_[kept].end, ranges_[i].end);
    else
      ranges_[++kept] = ranges_[i];
  }
  if (!ranges_.empty()) ranges_.resize(kept + 1);
  for (const Range& r : ranges_) {
    if (r.end - r.begin > largest_.end - largest_.begin) largest_ = r;
  }
  limit_ = std::max(kSmallest, ranges_.size() * 2);
}

std::vector<Range> RangeSet::take() {
  compact();
  largest_ = Range();
  limit_ = kSmallest;
  return std::move(ranges_);
}

int64_t LineSet::touch(uint64_t begin, uint64_t end) {
  int64_t fresh = 0;
  for (uint64_t line = begin / cost::kL2LineBytes; line <= (end - 1) / cost::kL2LineBytes; line++) {
    const uint64_t number = line / kLinesPerPage;
    if (number != last_number_) {
      last_ = &pages_.try_emplace(number, Page{}).first->second;
      last_number_ = number;
    }
    uint64_t& word = (*last_)[line % kLinesPerPage / 64];
    const uint64_t bit = 1ull << (line % 64);
    fresh += (word & bit) == 0;
    word |= bit;
  }
  return fresh;
}

int64_t LineSet::merge(const LineSet& other) {
  int64_t fresh = 0;
  for (const auto& [number, page] : other.pages_) {
    Page& own = pages_.try_emplace(number, Page{}).first->second;
    for (size_t i = 0; i < page.size(); i++) {
      fresh += __builtin_popcountll(page[i] & ~own[i]);
      own[i] |= page[i];
    }
  }
  return fresh;
}

template <class F>
bool WrittenBlocks::each_word(Page& page, uint64_t first, uint64_t last, F&& f) {
  for (uint64_t block = first; block < last;) {
    const uint64_t bit = block % 64, count = std::min(64 - bit, last - block);
    const uint64_t mask = (count == 64 ? ~0ull : (1ull << count) - 1) << bit;
    if (!f(page[block / 64], mask)) return false;
    block += count;
  }
  return true;
}

void WrittenBlocks::add(uint64_t begin, uint64_t end) {
  constexpr uint64_t kBlock = cost::kBlockBytes;
  const uint64_t last = end / kBlock;
  for (uint64_t block = (begin + kBlock - 1) / kBlock; block < last;) {
    const uint64_t page = block / kBlocksPerPage, stop = std::min(last, (page + 1) * kBlocksPerPage);
    each_word(pages_.try_emplace(page, Page{}).first->second, block - page * kBlocksPerPage,
              stop - page * kBlocksPerPage, [](uint64_t& word, uint64_t mask) {
                word |= mask;
                return true;
              });
    block = stop;
  }
}

bool WrittenBlocks::contains(uint64_t begin, uint64_t end) {
  if (pages_.empty()) return false;
  constexpr uint64_t kBlock = cost::kBlockBytes;
  const uint64_t last = (end + kBlock - 1) / kBlock;
  for (uint64_t block = begin / kBlock; block < last;) {
    const uint64_t page = block / kBlocksPerPage, stop = std::min(last, (page + 1) * kBlocksPerPage);
    const auto found = pages_.find(page);
    if (found == pages_.end()) return false;
    const bool all = each_word(found->second, block - page * kBlocksPerPage, stop - page * kBlocksPerPage,
                               [](uint64_t word, uint64_t mask) { return (word & mask) == mask; });
    if (!all) return false;
    block = stop;
  }
  return true;
}

void Traffic::merge(Traffic& other) {
  missing_ += lines_.merge(other.lines_);
  bytes_ += other.bytes_;
  for (const Range& r : other.reads_.take()) reads_.add(r.begin, r.end);
  for (const Range& r : other.writes_.take()) writes_.add(r.begin, r.end);
}

void Traffic::burst(uint64_t begin, uint64_t end, Direction direction, Transfer& transfer) {
  if (direction == kWrite) {
    writes_.add(begin, end);
    written_.add(begin, end);
  } else if (!written_.contains(begin, end)) {
    reads_.add(begin, end);
  }
  constexpr uint64_t kBlock = cost::kBlockBytes;
  const uint64_t moved = (end + kBlock - 1) / kBlock * kBlock - begin / kBlock * kBlock;
  transfer.bursts++;
  transfer.bytes += static_cast<int64_t>(moved);
  transfer.missing += lines_.touch(begin, end);
}

Transfer Traffic::move(const std::byte* begin, int64_t bytes, Direction direction) {
  Transfer transfer;
  burst(reinterpret_cast<uint64_t>(begin), reinterpret_cast<uint64_t>(begin) + bytes, direction, transfer);
  bytes_ += transfer.bytes;
  missing_ += transfer.missing;
  return transfer;
}

Transfer Traffic::move(const View& v, Direction direction) {
  Transfer transfer;
  for (int d = 0; d < v.rank; d++) {
    if (v.sizes[d] == 0) return transfer;
  }
  // The innermost dimensions that lie one behind the other form one burst.
  const int64_t width = std::max<int64_t>(1, bytes_of(v.element));
  int64_t run = 1;
  int outer = v.rank;
  while (outer > 0 && (v.sizes[outer - 1] == 1 || v.strides[outer - 1] == run)) run *= v.sizes[--outer];
  std::array<int64_t, kMaxRank> index{};
  const uint64_t base = reinterpret_cast<uint64_t>(v.base) + static_cast<uint64_t>(v.offset * width);
  for (;;) {
    int64_t at = 0;
    for (int d = 0; d < outer; d++) at += index[d] * v.strides[d];
    const uint64_t begin = base + static_cast<uint64_t>(at * width);
    burst(begin, begin + static_cast<uint64_t>(run * width), direction, transfer);
    int d = outer - 1;
    while (d >= 0 && ++index[d] == v.sizes[d]) index[d--] = 0;
    if (d < 0) break;
  }
  bytes_ += transfer.bytes;
  missing_ += transfer.missing;
  return transfer;
}

}  // namespace hivm
