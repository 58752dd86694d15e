// What the operators' functions share: integers in two's complement, without undefined overflow.
#pragma once
#include <cstdint>
#include <type_traits>

namespace cann_sim::ops {

inline int64_t wrap(uint64_t value) { return static_cast<int64_t>(value); }

template <class C>
inline constexpr bool is_integer = std::is_same_v<C, int64_t>;

}  // namespace cann_sim::ops
