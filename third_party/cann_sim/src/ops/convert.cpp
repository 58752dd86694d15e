#include "ops/convert.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "hivm/element.h"
#include "ops/registry.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace cann_sim::ops {
namespace {

using hivm::BFloat16;
using Half = _Float16;
struct Bool {
  uint8_t byte;
};

template <class C, class T>
C from(T value) {
  if constexpr (std::is_same_v<T, Bool>) {
    return static_cast<C>(value.byte != 0);
  } else if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
    return from<C>(static_cast<float>(value));
  } else if constexpr (std::is_floating_point_v<T> && std::is_integral_v<C>) {
    constexpr T high = 9223372036854775808.0;  // 2^63
    if (value != value) return 0;
    if (value >= high) return std::numeric_limits<int64_t>::max();
    return value <= -high ? std::numeric_limits<int64_t>::min() : static_cast<C>(value);
  } else {
    return static_cast<C>(value);
  }
}

template <class T, class C>
T to(C value) {
  if constexpr (std::is_same_v<T, Bool>) {
    return Bool{static_cast<uint8_t>(value != 0)};
  } else if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
    return static_cast<T>(static_cast<float>(value));
  } else if constexpr (std::is_integral_v<T> && std::is_floating_point_v<C>) {
    const int64_t wide = from<int64_t>(value);
    if constexpr (sizeof(T) == 8) return static_cast<T>(wide);
    return static_cast<T>(
        std::clamp<int64_t>(wide, std::numeric_limits<T>::min(), std::numeric_limits<T>::max()));
  } else {
    return static_cast<T>(value);
  }
}

#if defined(__x86_64__)
// Without F16C the compiler calls a library function per element.
__attribute__((target("avx,f16c"))) int64_t widen_fast(const Half* in, int64_t n, float* out) {
  int64_t i = 0;
  for (; i + 8 <= n; i += 8)
    _mm256_storeu_ps(out + i, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(in + i))));
  return i;
}
__attribute__((target("avx,f16c"))) int64_t narrow_fast(const float* in, int64_t n, Half* out) {
  int64_t i = 0;
  for (; i + 8 <= n; i += 8)
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out + i),
                     _mm256_cvtps_ph(_mm256_loadu_ps(in + i), _MM_FROUND_TO_NEAREST_INT));
  return i;
}
bool has_f16c() {
  static const bool has = __builtin_cpu_supports("avx") && __builtin_cpu_supports("f16c");
  return has;
}
#endif

template <class T, class C>
void load_as(const std::byte* array, int64_t first, int64_t n, C* values) {
  const T* in = reinterpret_cast<const T*>(array) + first;
  int64_t i = 0;
#if defined(__x86_64__)
  if constexpr (std::is_same_v<T, Half> && std::is_same_v<C, float>)
    if (has_f16c()) i = widen_fast(in, n, values);
#endif
  for (; i < n; i++) values[i] = from<C>(in[i]);
}

template <class T, class C>
void store_as(std::byte* array, int64_t first, int64_t n, const C* values) {
  T* out = reinterpret_cast<T*>(array) + first;
  int64_t i = 0;
#if defined(__x86_64__)
  if constexpr (std::is_same_v<T, Half> && std::is_same_v<C, float>)
    if (has_f16c()) i = narrow_fast(values, n, out);
#endif
  for (; i < n; i++) out[i] = to<T>(values[i]);
}

// Calls `f` with a value of the C++ type that stands for `type` in memory.
template <class F>
void with_element(aclDataType type, F f) {
  switch (type) {
    case ACL_FLOAT:
      return f(float{});
    case ACL_FLOAT16:
      return f(Half{});
    case ACL_BF16:
      return f(BFloat16{});
    case ACL_DOUBLE:
      return f(double{});
    case ACL_INT8:
      return f(int8_t{});
    case ACL_UINT8:
      return f(uint8_t{});
    case ACL_INT16:
      return f(int16_t{});
    case ACL_UINT16:
      return f(uint16_t{});
    case ACL_INT32:
      return f(int32_t{});
    case ACL_UINT32:
      return f(uint32_t{});
    case ACL_INT64:
      return f(int64_t{});
    case ACL_UINT64:
      return f(uint64_t{});
    case ACL_BOOL:
      return f(Bool{});
    default:
      throw InvalidCall("data type " + std::to_string(type) + " is not supported",
                        ACL_ERROR_UNSUPPORTED_DATA_TYPE);
  }
}

}  // namespace

template <class C>
void load(aclDataType type, const std::byte* array, int64_t first, int64_t n, C* values) {
  with_element(type, [&](auto element) { load_as<decltype(element)>(array, first, n, values); });
}

template <class C>
void store(aclDataType type, std::byte* array, int64_t first, int64_t n, const C* values) {
  with_element(type, [&](auto element) { store_as<decltype(element)>(array, first, n, values); });
}

template void load(aclDataType, const std::byte*, int64_t, int64_t, float*);
template void load(aclDataType, const std::byte*, int64_t, int64_t, double*);
template void load(aclDataType, const std::byte*, int64_t, int64_t, int64_t*);
template void store(aclDataType, std::byte*, int64_t, int64_t, const float*);
template void store(aclDataType, std::byte*, int64_t, int64_t, const double*);
template void store(aclDataType, std::byte*, int64_t, int64_t, const int64_t*);

}  // namespace cann_sim::ops
