#include "runtime/l2_cache.h"

#include <algorithm>

namespace cann_sim {

hivm::Range L2Cache::lines(hivm::Range range) const {
  return {range.begin / line_ * line_, (range.end + line_ - 1) / line_ * line_};
}

L2Cache::Map::const_iterator L2Cache::first_over(uint64_t address) const {
  auto at = pieces_.upper_bound(address);
  if (at != pieces_.begin() && std::prev(at)->second.end > address) --at;
  return at;
}

double L2Cache::resident(const std::vector<hivm::Range>& ranges) const {
  uint64_t total = 0, hits = 0;
  for (const hivm::Range& asked : ranges) {
    if (asked.begin >= asked.end) continue;
    const hivm::Range range = lines(asked);
    total += range.end - range.begin;
    for (auto at = first_over(range.begin); at != pieces_.end() && at->first < range.end; ++at) {
      hits += std::min(at->second.end, range.end) - std::max(at->first, range.begin);
    }
  }
  return total ? static_cast<double>(hits) / static_cast<double>(total) : 0;
}

void L2Cache::touch(const std::vector<hivm::Range>& ranges) {
  tick_++;
  for (const hivm::Range& asked : ranges) {
    if (asked.begin >= asked.end) continue;
    hivm::Range range = lines(asked);
    if (range.end - range.begin > capacity_) range.begin = range.end - capacity_;
    drop(range);
    insert(range);
    evict();
  }
}

void L2Cache::drop(hivm::Range range) {
  auto at = pieces_.upper_bound(range.begin);
  if (at != pieces_.begin()) --at;
  while (at != pieces_.end() && at->first < range.end) {
    const hivm::Range piece{at->first, at->second.end};
    const uint64_t tick = at->second.tick;
    if (piece.end <= range.begin) {
      ++at;
      continue;
    }
    by_age_.erase({tick, piece.begin});
    at = pieces_.erase(at);
    held_ -= piece.end - piece.begin;
    const auto keep = [&](uint64_t begin, uint64_t end) {
      pieces_.emplace(begin, Piece{end, tick});
      by_age_.emplace(tick, begin);
      held_ += end - begin;
    };
    if (piece.begin < range.begin) keep(piece.begin, range.begin);
    if (piece.end > range.end) keep(range.end, piece.end);
  }
}

void L2Cache::insert(hivm::Range range) {
  held_ += range.end - range.begin;
  const auto after = pieces_.lower_bound(range.begin);
  if (after != pieces_.begin()) {
    const auto before = std::prev(after);
    if (before->second.end == range.begin &&
        before->second.tick == tick_) {  // grows the piece of this very use
      before->second.end = range.end;
      return;
    }
  }
  pieces_.emplace_hint(after, range.begin, Piece{range.end, tick_});
  by_age_.emplace(tick_, range.begin);
}

void L2Cache::evict() {
  while (held_ > capacity_) {
    const auto [tick, begin] = *by_age_.begin();
    const auto piece = pieces_.find(begin);
    const uint64_t size = piece->second.end - begin, excess = held_ - capacity_;
    const uint64_t end = piece->second.end;
    by_age_.erase(by_age_.begin());
    pieces_.erase(piece);
    held_ -= std::min(size, excess);
    if (size > excess) {
      pieces_.emplace(begin + excess, Piece{end, tick});
      by_age_.emplace(tick, begin + excess);
    }
  }
}

}  // namespace cann_sim
