// A strided view on memory: what a memref value is at run time.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>

#include "hivm/element.h"

namespace hivm {

enum class Space : uint8_t { Gm, Ub, L1, L0c };

inline constexpr int kMaxRank = 16;  // sorting a row of 2^n elements makes n dimensions of it

// Byte b of the buffer is at base + b. Local memories are host arrays of the core, global memory is host
// memory at the same address. Offset and strides count elements; for I1 they count bits.
struct View {
  std::byte* base = nullptr;
  int64_t offset = 0;
  std::array<int64_t, kMaxRank> sizes{};
  std::array<int64_t, kMaxRank> strides{};
  uint8_t rank = 0;
  Element element = Element::F32;
  Space space = Space::Gm;

  int64_t count() const {
    int64_t n = 1;
    for (int d = 0; d < rank; d++) n *= sizes[d];
    return n;
  }
};

// Bytes [begin, end) that a view touches; empty when one of its sizes is 0.
struct Extent {
  const std::byte* begin = nullptr;
  const std::byte* end = nullptr;
};
inline Extent extent_of(const View& v) {
  int64_t low = v.offset, high = v.offset;
  for (int d = 0; d < v.rank; d++) {
    if (v.sizes[d] == 0) return {v.base, v.base};
    (v.strides[d] < 0 ? low : high) += (v.sizes[d] - 1) * v.strides[d];
  }
  if (v.element == Element::I1) return {v.base + (low >> 3), v.base + (high >> 3) + 1};
  const int64_t width = bytes_of(v.element);
  return {v.base + low * width, v.base + (high + 1) * width};
}

}  // namespace hivm
