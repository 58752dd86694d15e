// Element types of HIVM views and scalars.
#pragma once
#include <cstdint>
#include <cstring>
#include <string_view>

namespace hivm {

enum class Element : uint8_t { F64, F32, F16, BF16, I64, I32, I16, I8, I1 };

constexpr int bits_of(Element e) {
  switch (e) {
    case Element::F64:
    case Element::I64:
      return 64;
    case Element::F32:
    case Element::I32:
      return 32;
    case Element::F16:
    case Element::BF16:
    case Element::I16:
      return 16;
    case Element::I8:
      return 8;
    case Element::I1:
      return 1;
  }
  return 0;
}

// Bytes of one element; 0 for I1, whose views are packed eight to a byte, lowest bit first.
constexpr int64_t bytes_of(Element e) { return bits_of(e) / 8; }

constexpr bool is_float(Element e) { return e <= Element::BF16; }

// Brain float: the upper half of an IEEE single; conversions round to nearest even, NaN becomes 0x7FC0.
struct BFloat16 {
  uint16_t bits = 0;
  BFloat16() = default;
  explicit BFloat16(float value) {
    uint32_t u;
    std::memcpy(&u, &value, 4);
    bits = value != value ? 0x7FC0 : static_cast<uint16_t>((u + 0x7FFF + ((u >> 16) & 1)) >> 16);
  }
  explicit operator float() const {
    uint32_t u = static_cast<uint32_t>(bits) << 16;
    float value;
    std::memcpy(&value, &u, 4);
    return value;
  }
};

}  // namespace hivm
