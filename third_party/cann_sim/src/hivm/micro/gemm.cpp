#include "hivm/micro/gemm.h"

#include <cstring>

namespace hivm::micro {
namespace {

// kRows rows of a fractal of C in registers, kWidth floats to a register. Vector extensions: the operations
// are those of the single elements, in the same order for every width.
template <int kRows, int kWidth>
__attribute__((always_inline)) inline void rows_of_fractal(const float* a, const float* b, float* c,
                                                           int64_t depth) {
  typedef float Vector __attribute__((vector_size(kWidth * sizeof(float)), aligned(4), may_alias));
  constexpr int kVectors = static_cast<int>(kPanel) / kWidth;
  Vector sum[kRows][kVectors];
  for (int r = 0; r < kRows; r++) {
    for (int v = 0; v < kVectors; v++) std::memcpy(&sum[r][v], c + r * kPanel + v * kWidth, sizeof(Vector));
  }
  for (int64_t k = 0; k < depth; k++) {
    Vector right[kVectors];
    for (int v = 0; v < kVectors; v++) std::memcpy(&right[v], b + k * kPanel + v * kWidth, sizeof(Vector));
    for (int r = 0; r < kRows; r++) {
      for (int v = 0; v < kVectors; v++) sum[r][v] += a[k * kPanel + r] * right[v];
    }
  }
  for (int r = 0; r < kRows; r++) {
    for (int v = 0; v < kVectors; v++) std::memcpy(c + r * kPanel + v * kWidth, &sum[r][v], sizeof(Vector));
  }
}

struct Product {
  const float *a, *b;
  float* c;
  int64_t rows, columns, depth, row_step, column_step;
};

// A panel of B stays in the first cache while the rows of A pass.
template <int kRows, int kWidth>
__attribute__((always_inline)) inline void product(const Product& p) {
  for (int64_t n = 0; n < p.columns / kPanel; n++) {
    for (int64_t m = 0; m < p.rows / kPanel; m++) {
      const float* a = p.a + m * p.depth * kPanel;
      const float* b = p.b + n * p.depth * kPanel;
      float* c = p.c + n * p.column_step + m * p.row_step;
      for (int64_t r = 0; r < kPanel; r += kRows) {
        rows_of_fractal<kRows, kWidth>(a + r, b, c + r * kPanel, p.depth);
      }
    }
  }
}

// Sixteen registers of four floats, or of eight.
__attribute__((optimize("O3"))) void narrow(const Product& p) { product<2, 4>(p); }
#if defined(__x86_64__)
__attribute__((optimize("O3"), target("avx2"))) void wide(const Product& p) { product<4, 8>(p); }
#endif

}  // namespace

void add_product(const float* a, const float* b, float* c, int64_t rows, int64_t columns, int64_t depth,
                 int64_t row_step, int64_t column_step) {
  const Product p{a, b, c, rows, columns, depth, row_step, column_step};
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2")) return wide(p);
#endif
  narrow(p);
}

}  // namespace hivm::micro
