// What the cube core's micro-kernels cost beyond the table in hivm/cost_model.h. Nothing is calibrated.
#pragma once
#include <cstdint>

#include "hivm/micro/types.h"

namespace hivm::cost {

inline constexpr int64_t kFractal = 16;     // rows of A and columns of B in one step of the matrix unit [D]
inline constexpr int64_t kL0Bytes = 65536;  // L0A and L0B, each  [P] printed by the compiler for 910B3
inline constexpr double kL1ToBiasBytesPerCycle = 64;  // L1 -> bias table [A]
inline constexpr int64_t kSmallTile = 10;  // fractals of C below which the library waits for each product [L]
inline constexpr int64_t kLongestPitch = 65535;  // elements between rows that one nd2nz can encode [L]

// Depth of the product that the matrix unit does in one cycle: 16 x depth x 16.
//   [D] 16 for 16-bit types and twice that for 8 bits (the data sheet's 2:1 of INT8 to FP16);
//   [A] 4 for f32 (its rate is given as about a quarter of FP16's).
constexpr int64_t mad_depth(int bytes) { return bytes == 1 ? 32 : bytes == 2 ? 16 : 4; }

}  // namespace hivm::cost
