// Limits of views: names and sizes of the memory spaces, and an extent that cannot overflow.
#pragma once
#include "hivm/cost_model.h"
#include "hivm/view.h"

namespace hivm {

constexpr const char* space_name(Space space) {
  switch (space) {
    case Space::Gm:
      return "gm";
    case Space::Ub:
      return "ub";
    case Space::L1:
      return "cbuf";
    case Space::L0c:
      return "cc";
  }
  return "?";
}

// Bytes of a local memory; 0 for global memory.
constexpr int64_t capacity_of(Space space) {
  switch (space) {
    case Space::Ub:
      return cost::kUbBytes;
    case Space::L1:
      return cost::kL1Bytes;
    case Space::L0c:
      return cost::kL0cBytes;
    case Space::Gm:
      break;
  }
  return 0;
}

// Whether extent_of can be computed: sizes, strides and offset are of a size that some memory could have.
inline bool is_sane(const View& v) {
  constexpr int64_t kMost = int64_t{1} << 48;
  const auto small = [](int64_t x) { return x > -kMost && x < kMost; };
  if (!small(v.offset)) return false;
  for (int d = 0; d < v.rank; d++) {
    if (v.sizes[d] < 0 || !small(v.sizes[d]) || !small(v.strides[d])) return false;
    const __int128 reach = static_cast<__int128>(v.sizes[d]) * v.strides[d];
    if (reach >= kMost || reach <= -kMost) return false;
  }
  return true;
}

}  // namespace hivm
