// Axes of shapes.
#pragma once
#include <vector>

#include "ops/registry.h"

namespace cann_sim::ops {

// Negative axes count from the end. Throws InvalidCall outside [-rank, rank). A scalar has the axes 0 and -1,
// as in torch.
inline int64_t normal_axis(int64_t axis, size_t rank) {
  const auto limit = static_cast<int64_t>(rank ? rank : 1);
  if (axis < -limit || axis >= limit)
    throw InvalidCall("axis " + std::to_string(axis) + " of a tensor with " + std::to_string(rank) +
                      " dimensions");
  return axis < 0 ? axis + limit : axis;
}

// Which dimensions are named; no axes at all mean every dimension.
inline std::vector<bool> axis_mask(const std::vector<int64_t>& axes, size_t rank) {
  std::vector<bool> mask(rank, axes.empty());
  for (int64_t axis : axes) {
    const int64_t d = normal_axis(axis, rank);
    if (rank) mask[static_cast<size_t>(d)] = true;
  }
  return mask;
}

// All lines of a contiguous array along one axis: `length` elements, `stride` apart.
struct Lines {
  int64_t count = 1, length = 1, stride = 1;

  Lines(const Shape& shape, int64_t axis) {
    for (size_t d = 0; d < shape.size(); d++) {
      if (static_cast<int64_t>(d) == axis)
        length = shape[d];
      else
        count *= shape[d];
      if (static_cast<int64_t>(d) > axis) stride *= shape[d];
    }
  }
  // Offset of the first element of a line.
  int64_t start(int64_t line) const { return line / stride * stride * length + line % stride; }
};

}  // namespace cann_sim::ops
