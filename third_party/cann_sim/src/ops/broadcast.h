// Walking several arrays of different shapes together, as broadcasting pairs their elements.
#pragma once
#include <array>
#include <cstdint>
#include <vector>

#include "ops/tensor.h"

namespace cann_sim::ops {

// The shape that `shapes` broadcast to. Throws InvalidCall if they do not.
Shape broadcast_shape(const std::vector<const Shape*>& shapes);
// Throws InvalidCall unless `shape` broadcasts to `target`.
void check_broadcast(const Shape& shape, const Shape& target);

// A loop nest over `sizes` with strides, in elements, for each of N arrays: neighbouring dimensions that all
// arrays walk alike are merged, so that the innermost run is as long as possible. Dimensions of size 1
// vanish.
template <size_t N>
class Nest {
 public:
  Nest(const Shape& sizes, const std::array<Shape, N>& strides);

  // Calls run(offsets, n) for each innermost run: n elements, array k beginning at offsets[k] and continuing
  // with inner_stride(k).
  template <class Run>
  void each(Run run) const {
    if (empty_) return;
    std::array<int64_t, N> offsets{};
    Shape index(sizes_.size(), 0);
    for (;;) {
      run(offsets, inner_);
      size_t d = sizes_.size();
      for (;;) {
        if (d-- == 0) return;
        if (++index[d] < sizes_[d]) {
          for (size_t k = 0; k < N; k++) offsets[k] += strides_[k][d];
          break;
        }
        for (size_t k = 0; k < N; k++) offsets[k] -= strides_[k][d] * (sizes_[d] - 1);
        index[d] = 0;
      }
    }
  }
  int64_t inner_stride(size_t k) const { return inner_strides_[k]; }

 private:
  Shape sizes_;  // without the innermost
  std::array<Shape, N> strides_;
  int64_t inner_ = 1;
  std::array<int64_t, N> inner_strides_{};
  bool empty_ = false;
};

// Strides, in elements, of a contiguous array.
Shape contiguous_strides(const Shape& shape);
// The same for an array of `shape` read as if it had the shape `target`: 0 where it is repeated.
Shape broadcast_strides(const Shape& shape, const Shape& target);

template <size_t N>
Nest<N>::Nest(const Shape& sizes, const std::array<Shape, N>& strides) {
  for (size_t d = 0; d < sizes.size(); d++) {
    if (sizes[d] == 0) empty_ = true;
    if (sizes[d] == 1) continue;
    bool merge = !sizes_.empty();
    for (size_t k = 0; k < N && merge; k++) merge = strides_[k].back() == strides[k][d] * sizes[d];
    if (!merge) sizes_.push_back(1);
    sizes_.back() *= sizes[d];
    for (size_t k = 0; k < N; k++) {
      if (!merge) strides_[k].push_back(0);
      strides_[k].back() = strides[k][d];
    }
  }
  if (sizes_.empty()) return;
  inner_ = sizes_.back();
  sizes_.pop_back();
  for (size_t k = 0; k < N; k++) {
    inner_strides_[k] = strides_[k].back();
    strides_[k].pop_back();
  }
}

}  // namespace cann_sim::ops
