// The product of two packed matrices in float, added to a fractal accumulator: the arithmetic of the matrix
// unit, fast enough for tests.
#pragma once
#include <cstdint>

namespace hivm::micro {

inline constexpr int64_t kPanel =
    16;  // columns of B that lie together; also rows and columns of a fractal of C

// C[n / 16][m / 16][m % 16][n % 16] += A B.
//   a: [rows / 16][depth][16], row fastest     b: [columns / 16][depth][16], column fastest
//   c: fractals of 16 x 16 floats, `column_step` floats from one column of fractals to the next, `row_step`
//      from one row to the next.
// Each element is acc = acc + a * b for depth 0, 1, ... with both operations rounded to float, whatever the
// processor, so the result is the same everywhere.
void add_product(const float* a, const float* b, float* c, int64_t rows, int64_t columns, int64_t depth,
                 int64_t row_step, int64_t column_step);

}  // namespace hivm::micro
