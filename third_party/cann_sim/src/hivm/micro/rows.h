// Walking several strided views together, row by row.
//
// A micro-kernel's arithmetic is a loop over one row (a pointer and a stride per operand); everything about
// ranks, broadcasting and contiguous dimensions is here. Dimensions that are contiguous in all operands are
// merged first, so that the common case is a single long row.
#pragma once
#include <array>
#include <string>
#include <vector>

#include "hivm/micro.h"

namespace hivm::micro {

// One operand of one row: element i is at offset + i * stride, in elements (bits for packed i1) from base.
struct Lane {
  std::byte* base = nullptr;
  int64_t offset = 0;
  int64_t stride = 0;

  template <class T>
  T* pointer() const {
    return reinterpret_cast<T*>(base) + offset;
  }
};

std::string shape_text(const View& view);

// Throws: `source` cannot be spread over `target`.
[[noreturn]] void fail_shapes(const std::string& kernel, const View& source, const View& target);

// Operand 0 gives the shape (usually the target). Another operand may have size 1 where operand 0 has more:
// that element is repeated. Ranks must be equal.
template <int N>
class Rows {
 public:
  Rows(const std::string& kernel, const std::array<const View*, N>& views) {
    const View& shape = *views[0];
    for (int k = 0; k < N; k++) {
      start_[k] = {views[k]->base, views[k]->offset, 0};
      if (views[k]->rank != shape.rank) fail_shapes(kernel, *views[k], shape);
      for (int d = 0; d < shape.rank; d++) {
        const int64_t n = views[k]->sizes[d];
        if (n != shape.sizes[d] && n != 1) fail_shapes(kernel, *views[k], shape);
      }
    }
    for (int d = 0; d < shape.rank; d++) {
      if (shape.sizes[d] == 0) empty_ = true;
      if (shape.sizes[d] == 1) continue;
      std::array<int64_t, N> strides;
      for (int k = 0; k < N; k++) strides[k] = views[k]->sizes[d] == 1 ? 0 : views[k]->strides[d];
      push(shape.sizes[d], strides);
    }
    if (rank_ == 0) {
      std::array<int64_t, N> ones;
      ones.fill(1);
      push(1, ones);
    }
  }

  // row(lanes, n) for every row; rows in ascending order.
  template <class F>
  void each(F&& row) const {
    if (empty_) return;
    std::array<Lane, N> lanes = start_;
    for (int k = 0; k < N; k++) lanes[k].stride = strides_[rank_ - 1][k];
    std::array<int64_t, kMaxRank> index{};
    for (;;) {
      row(lanes, sizes_[rank_ - 1]);
      int d = rank_ - 2;
      for (; d >= 0; d--) {  // as an odometer turns: back to 0 here and on to the next dimension outwards
        const int64_t steps = ++index[d] < sizes_[d] ? 1 : 1 - sizes_[d];
        for (int k = 0; k < N; k++) lanes[k].offset += steps * strides_[d][k];
        if (steps == 1) break;
        index[d] = 0;
      }
      if (d < 0) return;
    }
  }

 private:
  void push(int64_t size, const std::array<int64_t, N>& strides) {
    if (rank_ > 0) {
      bool contiguous = true;
      for (int k = 0; k < N; k++) contiguous &= strides_[rank_ - 1][k] == strides[k] * size;
      if (contiguous) {
        sizes_[rank_ - 1] *= size;
        strides_[rank_ - 1] = strides;
        return;
      }
    }
    sizes_[rank_] = size;
    strides_[rank_++] = strides;
  }

  std::array<Lane, N> start_;
  std::array<int64_t, kMaxRank> sizes_{};
  std::array<std::array<int64_t, N>, kMaxRank> strides_{};
  int rank_ = 0;
  bool empty_ = false;
};

// A source as it was before the target is written. In-place use from the same start is fine going upwards and
// stays where it is; any other overlap is copied aside first.
class Source {
 public:
  Source(const View& source, const View& target);
  const View& view() const { return view_; }

 private:
  View view_;
  std::vector<std::byte> copy_;
};

}  // namespace hivm::micro
