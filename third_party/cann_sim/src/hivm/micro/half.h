// IEEE half precision as a storage type: arithmetic happens in float, every result is rounded once.
//
// Both conversions are branch-free integer arithmetic so that the compiler vectorises loops over them on any
// x86-64; with _Float16 each element would be a library call unless the machine has F16C.
#pragma once
#include <cstdint>
#include <cstring>

namespace hivm::micro {

inline float bits_to_float(uint32_t u) {
  float f;
  std::memcpy(&f, &u, 4);
  return f;
}

inline uint32_t float_to_bits(float f) {
  uint32_t u;
  std::memcpy(&u, &f, 4);
  return u;
}

struct Half {
  uint16_t bits = 0;

  Half() = default;

  // Rounds to nearest even; NaN stays NaN (quiet, upper bits of its payload kept), too large becomes
  // infinity.
  explicit Half(float value) {
    constexpr uint32_t kInfinity = 0x7F800000u, kTooLarge = (127u + 16) << 23, kSmallestNormal = 113u << 23;
    const uint32_t u = float_to_bits(value);
    const uint32_t sign = (u >> 16) & 0x8000u, magnitude = u & 0x7FFFFFFFu;
    // Adding 0.5 aligns the mantissa of a subnormal result with that of 0.5, and rounds it on the way.
    const uint32_t subnormal = float_to_bits(bits_to_float(magnitude) + 0.5f) - 0x3F000000u;
    const uint32_t normal = (magnitude - (112u << 23) + 0xFFFu + ((magnitude >> 13) & 1u)) >> 13;
    const uint32_t nan = 0x7E00u | ((magnitude >> 13) & 0x3FFu);
    uint32_t result = magnitude < kSmallestNormal ? subnormal : normal;
    result = magnitude >= kTooLarge ? 0x7C00u : result;
    result = magnitude > kInfinity ? nan : result;
    bits = static_cast<uint16_t>(result | sign);
  }

  // Exact.
  explicit operator float() const {
    const uint32_t magnitude = (bits & 0x7FFFu) << 13;
    // Scaling by 2^112 moves the exponent bias of half to that of float, also for subnormals.
    const uint32_t finite = float_to_bits(bits_to_float(magnitude) * 0x1p112f);
    const uint32_t special = magnitude | 0x7F800000u;
    const uint32_t sign = static_cast<uint32_t>(bits & 0x8000u) << 16;
    return bits_to_float((magnitude >= 0x0F800000u ? special : finite) | sign);
  }
};

}  // namespace hivm::micro
