#include "runtime/content.h"

#include <algorithm>

namespace cann_sim {

Content::Map::iterator Content::split(uint64_t address) {
  auto at = map_.lower_bound(address);
  if (at == map_.begin()) return at;
  const auto before = std::prev(at);
  if (before->second.end <= address) return at;
  const Interval upper = before->second;
  before->second.end = address;
  return map_.emplace_hint(at, address, upper);
}

Content::Map::const_iterator Content::first_over(uint64_t address) const {
  auto at = map_.upper_bound(address);
  if (at != map_.begin() && std::prev(at)->second.end > address) --at;
  return at;
}

Content::Map::iterator Content::merge_with_previous(Map::iterator at) {
  if (at == map_.end() || at == map_.begin()) return at;
  const auto before = std::prev(at);
  if (before->second.end != at->first || before->second.stamp != at->second.stamp) return at;
  before->second.end = at->second.end;
  map_.erase(at);
  return before;
}

void Content::add(hivm::Range range) {
  if (range.begin >= range.end) return;
  const auto at = map_.insert_or_assign(range.begin, Interval{range.end, kZero}).first;
  const auto merged = merge_with_previous(at);
  merge_with_previous(std::next(merged));
}

void Content::remove(hivm::Range range) {
  if (range.begin >= range.end) return;
  const auto first = split(range.begin);
  const auto last = split(range.end);
  // `first` may have been the interval that the second split cut, but it still begins at or after
  // range.begin.
  map_.erase(first, last);
}

void Content::set(hivm::Range range, Stamp stamp) {
  if (range.begin >= range.end) return;
  split(range.begin);
  split(range.end);
  auto at = map_.lower_bound(range.begin);
  while (at != map_.end() && at->first < range.end) {
    at->second.stamp = stamp;
    at = std::next(merge_with_previous(at));
  }
  merge_with_previous(at);
}

bool Content::is_zero(hivm::Range range) const {
  if (range.begin >= range.end) return true;
  for (auto at = first_over(range.begin); at != map_.end() && at->first <= range.begin; ++at) {
    if (at->second.stamp != kZero) return false;
    if (at->second.end >= range.end) return true;
    range.begin = at->second.end;
  }
  return false;
}

std::vector<hivm::Range> Content::nonzero(hivm::Range range) const {
  std::vector<hivm::Range> found;
  if (range.begin >= range.end) return found;
  for (auto at = first_over(range.begin); at != map_.end() && at->first < range.end; ++at) {
    if (at->second.stamp == kZero) continue;
    const uint64_t begin = std::max(at->first, range.begin), end = std::min(at->second.end, range.end);
    if (!found.empty() && found.back().end == begin) {
      found.back().end = end;
    } else {
      found.push_back({begin, end});
    }
  }
  return found;
}

uint64_t Content::signature(const std::vector<hivm::Range>& ranges) const {
  uint64_t hash = 0x243F6A8885A308D3;
  const auto mix = [&hash](uint64_t value) {  // the finaliser of splitmix64
    hash = (hash ^ value) + 0x9E3779B97F4A7C15;
    hash = (hash ^ (hash >> 30)) * 0xBF58476D1CE4E5B9;
    hash = (hash ^ (hash >> 27)) * 0x94D049BB133111EB;
    hash ^= hash >> 31;
  };
  for (const hivm::Range& range : ranges) {
    if (range.begin >= range.end) continue;
    mix(range.begin);
    mix(range.end);
    // Neighbouring intervals with equal stamps are one (merge_with_previous), so the pieces are canonical.
    for (auto at = first_over(range.begin); at != map_.end() && at->first < range.end; ++at) {
      mix(std::max(at->first, range.begin));
      mix(at->second.stamp);
    }
  }
  return hash;
}

}  // namespace cann_sim
