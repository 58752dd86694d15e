#include "ops/broadcast.h"

#include <algorithm>

#include "ops/registry.h"

namespace cann_sim::ops {

Shape broadcast_shape(const std::vector<const Shape*>& shapes) {
  Shape result;
  for (const Shape* shape : shapes) {
    if (shape->size() > result.size()) result.insert(result.begin(), shape->size() - result.size(), 1);
    for (size_t k = 1; k <= shape->size(); k++) {
      int64_t& size = result[result.size() - k];
      const int64_t own = (*shape)[shape->size() - k];
      if (size == 1) {
        size = own;
      } else if (own != 1 && own != size) {
        throw InvalidCall("shape " + text_of(*shape) + " does not broadcast with " + text_of(result));
      }
    }
  }
  return result;
}

void check_broadcast(const Shape& shape, const Shape& target) {
  bool fits = shape.size() <= target.size();
  for (size_t k = 1; fits && k <= shape.size(); k++) {
    const int64_t own = shape[shape.size() - k];
    fits = own == 1 || own == target[target.size() - k];
  }
  if (!fits) throw InvalidCall("shape " + text_of(shape) + " does not broadcast to " + text_of(target));
}

Shape contiguous_strides(const Shape& shape) {
  Shape strides(shape.size(), 1);
  for (size_t d = shape.size(); d-- > 1;) strides[d - 1] = strides[d] * shape[d];
  return strides;
}

Shape broadcast_strides(const Shape& shape, const Shape& target) {
  check_broadcast(shape, target);
  const Shape own = contiguous_strides(shape);
  Shape strides(target.size(), 0);
  const size_t lead = target.size() - shape.size();
  for (size_t d = 0; d < shape.size(); d++)
    if (shape[d] != 1) strides[lead + d] = own[d];
  return strides;
}

}  // namespace cann_sim::ops
