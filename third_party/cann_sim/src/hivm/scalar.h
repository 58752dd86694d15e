// Arithmetic of single values: wrap-around of integers, rounding of floating point numbers, bytes in memory.
//
// An integer is held sign-extended in an int64_t, except i1, which is 0 or 1; a floating point number of any
// type in a double. One operation in double that is rounded to f32 or f16 afterwards equals the operation in
// that type (double has more than twice their digits), for + - * / and sqrt.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "hivm/element.h"

namespace hivm {

constexpr int64_t wrap_to(Element e, int64_t value) {
  switch (e) {
    case Element::I32:
      return static_cast<int32_t>(value);
    case Element::I16:
      return static_cast<int16_t>(value);
    case Element::I8:
      return static_cast<int8_t>(value);
    case Element::I1:
      return value & 1;
    default:
      return value;
  }
}

inline double round_to(Element e, double value) {
  switch (e) {
    case Element::F32:
      return static_cast<float>(value);
    case Element::F16:
      return static_cast<double>(static_cast<_Float16>(value));
    case Element::BF16:
      return static_cast<float>(BFloat16(static_cast<float>(value)));
    default:
      return value;
  }
}

template <class T>
T from_bytes(const void* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

template <class T>
void to_bytes(void* bytes, T value) {
  std::memcpy(bytes, &value, sizeof value);
}

inline double load_float(Element e, const void* at) {
  switch (e) {
    case Element::F32:
      return from_bytes<float>(at);
    case Element::F16:
      return static_cast<double>(from_bytes<_Float16>(at));
    case Element::BF16:
      return static_cast<float>(from_bytes<BFloat16>(at));
    default:
      return from_bytes<double>(at);
  }
}

inline void store_float(Element e, void* at, double value) {
  switch (e) {
    case Element::F32:
      return to_bytes(at, static_cast<float>(value));
    case Element::F16:
      return to_bytes(at, static_cast<_Float16>(value));
    case Element::BF16:
      return to_bytes(at, BFloat16(static_cast<float>(value)));
    default:
      return to_bytes(at, value);
  }
}

inline double float_of_bits(Element e, int64_t bits) { return load_float(e, &bits); }

}  // namespace hivm
