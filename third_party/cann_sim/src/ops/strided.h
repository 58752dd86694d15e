// Moving elements between strided arrays, without looking at them.
#pragma once
#include <cstdint>

#include "ops/tensor.h"

namespace cann_sim::ops {

// Strides and offsets count elements of `width` bytes (1, 2, 4 or 8).
struct Strided {
  std::byte* data = nullptr;
  int64_t offset = 0;
  Shape strides;
};

void copy_strided(const Strided& to, const Strided& from, const Shape& sizes, size_t width);

// Whether all elements of a strided array lie within `elements` elements of its data.
bool inside(const Strided& array, const Shape& sizes, int64_t elements);

}  // namespace cann_sim::ops
