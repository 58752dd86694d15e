// Compares Content, L2Cache and Arena with tables that hold one entry for each byte, line or page, over
// random operations. Prints nothing and exits 0 if they agree.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <list>
#include <map>
#include <random>
#include <vector>

#include "runtime/arena.h"
#include "runtime/content.h"
#include "runtime/l2_cache.h"

using namespace cann_sim;
using hivm::Range;

namespace {

#define REQUIRE(condition)                                                                 \
  do {                                                                                     \
    if (!(condition)) {                                                                    \
      std::fprintf(stderr, "%s:%d: %s (step %d)\n", __FILE__, __LINE__, #condition, step); \
      std::exit(1);                                                                        \
    }                                                                                      \
  } while (0)

std::mt19937_64 random_bits(1);
uint64_t below(uint64_t n) { return random_bits() % n; }

Range random_range(uint64_t size, uint64_t longest) {
  const uint64_t begin = below(size);
  return {begin, std::min(size, begin + below(longest + 1))};
}

void check_content() {
  constexpr uint64_t kSize = 200;
  constexpr int64_t kAbsent = -1;
  Content content;
  std::vector<int64_t> bytes(kSize, kAbsent);
  std::map<std::vector<int64_t>, uint64_t> signatures;
  for (int step = 0; step < 20000; step++) {
    const Range range = random_range(kSize, 60);
    const auto each = [&](auto&& f) {
      for (uint64_t i = range.begin; i < range.end; i++) f(bytes[i]);
    };
    switch (below(8)) {
      case 0: {  // memory comes: only where there is none
        bool free = true;
        each([&](int64_t b) { free &= b == kAbsent; });
        if (!free) break;
        content.add(range);
        each([](int64_t& b) { b = 0; });
        break;
      }
      case 1:
        content.remove(range);
        each([](int64_t& b) { b = kAbsent; });
        break;
      case 2:
        content.set(range, kZero);
        each([](int64_t& b) { b = b == kAbsent ? b : 0; });
        break;
      default: {
        const Stamp stamp = content.next_stamp();
        content.set(range, stamp);
        each([&](int64_t& b) { b = b == kAbsent ? b : static_cast<int64_t>(stamp); });
      }
    }
    const Range asked = random_range(kSize, 100);
    bool zero = true;
    std::vector<int64_t> key{static_cast<int64_t>(asked.begin), static_cast<int64_t>(asked.end)};
    std::vector<Range> nonzero;
    for (uint64_t i = asked.begin; i < asked.end; i++) {
      zero &= bytes[i] == 0;
      key.push_back(bytes[i]);
      if (bytes[i] <= 0) continue;
      if (!nonzero.empty() && nonzero.back().end == i)
        nonzero.back().end++;
      else
        nonzero.push_back({i, i + 1});
    }
    REQUIRE(content.is_zero(asked) == zero);
    const auto found = content.nonzero(asked);
    REQUIRE(found.size() == nonzero.size());
    for (size_t i = 0; i < found.size(); i++)
      REQUIRE(found[i].begin == nonzero[i].begin && found[i].end == nonzero[i].end);
    const uint64_t signature = content.signature({asked});
    if (asked.begin < asked.end) REQUIRE(signatures.try_emplace(key, signature).first->second == signature);
    size_t runs = 0;
    for (uint64_t i = 0; i < kSize; i++) runs += bytes[i] != kAbsent && (i == 0 || bytes[i] != bytes[i - 1]);
    REQUIRE(content.intervals() == runs);
  }
}

// One entry for each line, least recently used first; lines of one use in order of their addresses.
void check_l2() {
  constexpr uint64_t kLine = 4, kLines = 32, kSize = 400;
  L2Cache cache(kLine * kLines, kLine);
  std::list<uint64_t> used;
  for (int step = 0; step < 20000; step++) {
    const std::vector<Range> asked{random_range(kSize, 90)};
    const uint64_t first = asked[0].begin / kLine, last = (asked[0].end + kLine - 1) / kLine;
    const bool empty = asked[0].begin >= asked[0].end;
    uint64_t hits = 0;
    for (uint64_t line = first; line < last; line++) hits += std::count(used.begin(), used.end(), line);
    const double expected = empty ? 0 : static_cast<double>(hits) / static_cast<double>(last - first);
    REQUIRE(cache.resident(asked) == expected);
    cache.touch(asked);
    for (uint64_t line = first; !empty && line < last; line++) {
      used.remove(line);
      used.push_back(line);
    }
    while (used.size() > kLines) used.pop_front();
    REQUIRE(cache.held() == used.size() * kLine);
  }
}

void check_arena() {
  const uint64_t page = page_bytes(), pages = 64;
  Arena arena(page * pages);
  int step = 0;
  REQUIRE(arena.reserved());
  std::map<uint64_t, uint64_t> live;  // begin -> bytes
  uint64_t base = arena.allocate(1), total = page;
  live[base] = 1;
  for (; step < 20000; step++) {
    if (below(2) && !live.empty()) {
      const auto victim = std::next(live.begin(), static_cast<int64_t>(below(live.size())));
      arena.release(victim->first, victim->second);
      total -= whole_pages(victim->second);
      live.erase(victim);
    } else {
      const uint64_t bytes = below(12 * page) + 1;
      uint64_t fits = Arena::kNone, at = base;  // the first gap that is large enough
      for (const auto& [begin, size] : live) {
        if (fits == Arena::kNone && begin - at >= whole_pages(bytes)) fits = at;
        at = begin + whole_pages(size);
      }
      if (fits == Arena::kNone && base + page * pages - at >= whole_pages(bytes)) fits = at;
      const uint64_t got = arena.allocate(bytes);
      REQUIRE(got == fits);
      if (got == Arena::kNone) continue;
      live[got] = bytes;
      total += whole_pages(bytes);
      auto* memory = reinterpret_cast<char*>(got);
      REQUIRE(memory[0] == 0 && memory[bytes - 1] == 0);
      memory[0] = memory[bytes - 1] = 1;
    }
    REQUIRE(arena.used() == total);
  }
}

}  // namespace

int main() {
  check_content();
  check_l2();
  check_arena();
}
