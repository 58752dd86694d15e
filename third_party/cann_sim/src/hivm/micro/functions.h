// exp and ln for whole rows: straight-line double arithmetic that the compiler vectorises, rounded once to
// float.
//
// The results are within 1 ulp of the exact value and the same on every machine, which neither the vector
// variants of a C library (4 ulp) nor its scalar functions (chosen by CPU at load time) promise.
#pragma once
#include <cstdint>
#include <cstring>

namespace hivm::micro {

inline double bits_to_double(uint64_t u) {
  double d;
  std::memcpy(&d, &u, 8);
  return d;
}

inline uint64_t double_to_bits(double d) {
  uint64_t u;
  std::memcpy(&u, &d, 8);
  return u;
}

inline float exp_of(float value) {
  constexpr double kLog2e = 0x1.71547652b82fep+0, kLn2 = 0x1.62e42fefa39efp-1;
  constexpr double kRound = 0x1.8p52;  // adding it leaves the nearest integer in the low bits
  double x = value;
  // Beyond these floats the result is 0 or infinity anyway; NaN fails both comparisons and passes through.
  x = x < -110.0 ? -110.0 : x;
  x = x > 90.0 ? 90.0 : x;
  const double shifted = x * kLog2e + kRound;
  const double n = shifted - kRound;
  const double r = x - n * kLn2;  // |r| <= ln(2) / 2
  double p = 1.0 / 362880;
  p = p * r + 1.0 / 40320;
  p = p * r + 1.0 / 5040;
  p = p * r + 1.0 / 720;
  p = p * r + 1.0 / 120;
  p = p * r + 1.0 / 24;
  p = p * r + 1.0 / 6;
  p = p * r + 0.5;
  p = p * r + 1.0;
  p = p * r + 1.0;
  const double scale = bits_to_double((double_to_bits(shifted) + 1023) << 52);  // 2^n
  return static_cast<float>(p * scale);
}

inline float ln_of(float value) {
  constexpr double kLn2 = 0x1.62e42fefa39efp-1;
  constexpr float kInfinity = __builtin_inff();
  const uint64_t bits = double_to_bits(value);
  // m in [sqrt(1/2), sqrt(2)), value = m * 2^k; every float above 0 is a normal double.
  const uint64_t offset = bits - 0x3FE6A09E667F3BCDu;
  const uint64_t exponent = (offset >> 52) ^ 0x800;  // sign-extended below without a 64-bit arithmetic shift
  const double k = bits_to_double(0x4330000000000000u | exponent) - (0x1p52 + 0x800);
  const double m = bits_to_double(bits - (offset & 0xFFF0000000000000u));
  const double s = (m - 1.0) / (m + 1.0), z = s * s;
  double p = 2.0 / 15;
  p = p * z + 2.0 / 13;
  p = p * z + 2.0 / 11;
  p = p * z + 2.0 / 9;
  p = p * z + 2.0 / 7;
  p = p * z + 2.0 / 5;
  p = p * z + 2.0 / 3;
  p = p * z + 2.0;
  float result = static_cast<float>(p * s + k * kLn2);
  result = value < kInfinity ? result : value;  // +inf stays, NaN stays
  result = value == 0.0f ? -kInfinity : result;
  return value < 0.0f ? __builtin_nanf("") : result;
}

}  // namespace hivm::micro
