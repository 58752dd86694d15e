// Elementwise loops: blocks of elements are loaded into the operator's arithmetic, computed in cache, and
// stored rounded.
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>

#include "ops/broadcast.h"
#include "ops/convert.h"
#include "ops/tensor.h"

namespace cann_sim::ops {

inline constexpr int64_t kBlock = 512;  // elements; four blocks of 8 bytes each stay in the first-level cache

// Computes n results from blocks of n values, one block for each input.
template <class C, class R, size_t N>
using Body = std::function<void(const std::array<C*, N>& values, R* results, int64_t n)>;

// out[i] = f(in0[i], in1[i], ...), broadcast, a block at a time: C is the arithmetic that inputs are loaded
// in, R the one that results are stored from. Instantiated for the pairs that operators use (map.cpp): C as
// R, or any C with int64 results.
template <class C, class R, size_t N>
void map_blocks(const std::array<const Tensor*, N>& inputs, const Tensor& output, const Body<C, R, N>& body);

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
