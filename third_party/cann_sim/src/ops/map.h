// Elementwise loops: blocks of elements are loaded into the operator's arithmetic, computed in cache, and
// stored rounded.
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>

#include "ops/broadcast.h"
#include "ops/convert.h"
#include "ops/tensor.h"

namespace cann_sim::ops {

inline constexpr int64_t kBlock = 512;  // elements; four blocks of 8 bytes each stay in the first-level cache

// Elements of `tensor` from `offset` on, `stride` 1, or 0: one element repeated.
template <class C>
void load_run(const Tensor& tensor, int64_t offset, int64_t stride, int64_t n, C* values) {
  if (stride == 0) {
    load(tensor.type, tensor.data, offset, 1, values);
    std::fill_n(values + 1, n - 1, values[0]);
  } else {
    load(tensor.type, tensor.data, offset, n, values);
  }
}

// out[i] = f(in0[i], in1[i], ...) for blocks: body(values, results, n) with values[k] the block of input k,
// all in arithmetic C; results are of type R and stored as the output's type.
template <class C, class R, size_t N, class Body>
void map_blocks(const std::array<const Tensor*, N>& inputs, const Tensor& output, Body body) {
  std::array<Shape, N + 1> strides;
  for (size_t k = 0; k < N; k++) strides[k] = broadcast_strides(inputs[k]->shape, output.shape);
  strides[N] = contiguous_strides(output.shape);
  const Nest<N + 1> nest(output.shape, strides);
  C storage[N ? N : 1][kBlock];
  R results[kBlock];
  std::array<C*, N> values;
  for (size_t k = 0; k < N; k++) values[k] = storage[k];
  nest.each([&](const std::array<int64_t, N + 1>& offsets, int64_t length) {
    for (int64_t at = 0; at < length; at += kBlock) {
      const int64_t n = std::min(kBlock, length - at);
      for (size_t k = 0; k < N; k++) {
        const int64_t stride = nest.inner_stride(k);
        load_run(*inputs[k], offsets[k] + at * stride, stride, n, values[k]);
      }
      body(values, results, n);
      store(output.type, output.data, offsets[N] + at, n, results);
    }
  });
}

// Calls f with a value of the C++ type of an arithmetic.
template <class F>
decltype(auto) with_arithmetic(Arithmetic arithmetic, F f) {
  switch (arithmetic) {
    case Arithmetic::Float:
      return f(float{});
    case Arithmetic::Double:
      return f(double{});
    default:
      return f(int64_t{});
  }
}

// The arithmetic that can hold every input: double before float before integers.
template <size_t N>
Arithmetic common_arithmetic(const std::array<const Tensor*, N>& inputs) {
  Arithmetic result = Arithmetic::Integer;
  for (const Tensor* t : inputs) {
    const Arithmetic own = arithmetic_of(t->type);
    if (own == Arithmetic::Double || result == Arithmetic::Integer) result = own;
  }
  return result;
}

}  // namespace cann_sim::ops
