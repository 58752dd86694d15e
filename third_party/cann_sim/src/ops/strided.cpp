#include "ops/strided.h"

#include <cstring>

#include "ops/broadcast.h"

namespace cann_sim::ops {
namespace {

template <class T>
void copy(const Strided& to, const Strided& from, const Shape& sizes) {
  const Nest<2> nest(sizes, {to.strides, from.strides});
  T* target = reinterpret_cast<T*>(to.data) + to.offset;
  const T* source = reinterpret_cast<const T*>(from.data) + from.offset;
  const int64_t out = nest.inner_stride(0), in = nest.inner_stride(1);
  nest.each([&](const auto& at, int64_t n) {
    T* t = target + at[0];
    const T* s = source + at[1];
    if (out == 1 && in == 1) {
      std::memmove(t, s, static_cast<size_t>(n) * sizeof(T));
    } else {
      for (int64_t i = 0; i < n; i++) t[i * out] = s[i * in];
    }
  });
}

}  // namespace

void copy_strided(const Strided& to, const Strided& from, const Shape& sizes, size_t width) {
  switch (width) {
    case 1:
      return copy<uint8_t>(to, from, sizes);
    case 2:
      return copy<uint16_t>(to, from, sizes);
    case 4:
      return copy<uint32_t>(to, from, sizes);
    default:
      return copy<uint64_t>(to, from, sizes);
  }
}

bool inside(const Strided& array, const Shape& sizes, int64_t elements) {
  int64_t low = array.offset, high = array.offset;
  for (size_t d = 0; d < sizes.size(); d++) {
    if (sizes[d] == 0) return true;
    (array.strides[d] < 0 ? low : high) += (sizes[d] - 1) * array.strides[d];
  }
  return low >= 0 && high < elements;
}

}  // namespace cann_sim::ops
