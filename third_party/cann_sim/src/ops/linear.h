// Matrix products of contiguous arrays.
#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

#include "ops/tensor.h"

namespace cann_sim::ops {

// Peak of the cube cores for 16-bit floats, multiply and add counted as two: the public figure for the Ascend
// 910B3 is about 313 TFLOP/s; a quarter of it for 32-bit floats. Not calibrated, and no product reaches it.
inline constexpr double kCubeFlopsPerNs16 = 313e3;

inline double product_ns(aclDataType type, double m, double n, double k) {
  return 2 * m * n * k / (element_bytes(type) <= 2 ? kCubeFlopsPerNs16 : kCubeFlopsPerNs16 / 4);
}

// A matrix of rows x columns, turned over on the way if it is stored the other way round.
template <class C>
std::vector<C> oriented(const C* stored, int64_t rows, int64_t columns, bool transposed) {
  std::vector<C> result(stored, stored + rows * columns);
  if (transposed)
    for (int64_t r = 0; r < rows; r++)
      for (int64_t c = 0; c < columns; c++) result[r * columns + c] = stored[c * rows + r];
  return result;
}

// out (m, n) += a (m, k) * b (k, n). The innermost loop runs along rows, so that it vectorises without
// reordering a sum.
template <class C>
void multiply(const C* a, const C* b, C* out, int64_t m, int64_t n, int64_t k) {
  constexpr int64_t kPanel = 64;  // rows of b that stay in cache while all rows of a pass
  for (int64_t first = 0; first < k; first += kPanel)
    for (int64_t i = 0; i < m; i++)
      for (int64_t l = first; l < std::min(first + kPanel, k); l++) {
        const C factor = a[i * k + l];
        const C* row = b + l * n;
        for (int64_t j = 0; j < n; j++) out[i * n + j] += factor * row[j];
      }
}

}  // namespace cann_sim::ops
