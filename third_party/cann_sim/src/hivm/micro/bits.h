// Packed i1 rows: eight elements to a byte, lowest bit first.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstring>

#include "hivm/micro/rows.h"

namespace hivm::micro {

inline constexpr int kWordBits = 32;  // what a row of bits is processed by

inline bool read_bit(const std::byte* base, int64_t bit) {
  return (static_cast<unsigned>(base[bit >> 3]) >> (bit & 7)) & 1;
}

inline void write_bit(std::byte* base, int64_t bit, bool on) {
  const auto mask = static_cast<std::byte>(1 << (bit & 7));
  base[bit >> 3] = on ? base[bit >> 3] | mask : base[bit >> 3] & ~mask;
}

// Elements first .. first + count - 1 (count <= 32) of a row of bits, element `first` in bit 0.
inline uint32_t read_bits(const Lane& lane, int64_t first, int count) {
  const int64_t bit = lane.offset + first * lane.stride;
  if (lane.stride == 1) {
    uint64_t word = 0;
    std::memcpy(&word, lane.base + (bit >> 3), static_cast<size_t>(((bit & 7) + count + 7) >> 3));
    return static_cast<uint32_t>(word >> (bit & 7));
  }
  uint32_t word = 0;
  for (int i = 0; i < count; i++)
    word |= static_cast<uint32_t>(read_bit(lane.base, bit + i * lane.stride)) << i;
  return word;
}

// Stores the low `count` bits of `word` as elements first .. first + count - 1; other bits of the bytes stay.
inline void write_bits(const Lane& lane, int64_t first, int count, uint32_t word) {
  const int64_t bit = lane.offset + first * lane.stride;
  if (lane.stride == 1 && (bit & 7) == 0 && (count & 7) == 0) {
    std::memcpy(lane.base + (bit >> 3), &word, static_cast<size_t>(count >> 3));
    return;
  }
  for (int i = 0; i < count; i++) write_bit(lane.base, bit + i * lane.stride, (word >> i) & 1);
}

// Fills a row of bits word by word, upwards: word_of(first, count) gives the next `count` elements. Each word
// is computed before it is stored, so a target may start where its wider source starts.
template <class F>
void for_bits(const Lane& target, int64_t n, F&& word_of) {
  for (int64_t i = 0; i < n; i += kWordBits) {
    const int count = static_cast<int>(std::min<int64_t>(kWordBits, n - i));
    write_bits(target, i, count, static_cast<uint32_t>(word_of(i, count)));
  }
}

}  // namespace hivm::micro
