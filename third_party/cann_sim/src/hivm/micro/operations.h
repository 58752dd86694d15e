// What arithmetic, bitwise, shift and unary micro-kernels do to one element, as functors of Wide<T>.
//
// max, min and relu give NaN if either side is NaN. Integers wrap around.
#pragma once
#include <cmath>
#include <cstdint>
#include <type_traits>

#include "hivm/micro/functions.h"

namespace hivm::micro {

template <class W>
using Unsigned =
    std::conditional_t<std::is_integral_v<W>,
                       std::make_unsigned_t<std::conditional_t<std::is_integral_v<W>, W, int>>, W>;

struct Add {
  template <class W>
  W operator()(W a, W b) const {
    return static_cast<W>(Unsigned<W>(a) + Unsigned<W>(b));
  }
};
struct Subtract {
  template <class W>
  W operator()(W a, W b) const {
    return static_cast<W>(Unsigned<W>(a) - Unsigned<W>(b));
  }
};
struct Multiply {
  template <class W>
  W operator()(W a, W b) const {
    // Narrow unsigned factors would be promoted to int, whose product may overflow.
    using U = std::conditional_t<std::is_integral_v<W> && sizeof(W) < 4, unsigned, Unsigned<W>>;
    return static_cast<W>(U(a) * U(b));
  }
};
struct Divide {
  template <class W>
  W operator()(W a, W b) const {
    return a / b;
  }
};
struct Maximum {
  template <class W>
  W operator()(W a, W b) const {
    return a > b || a != a ? a : b;
  }
};
struct Minimum {
  template <class W>
  W operator()(W a, W b) const {
    return a < b || a != a ? a : b;
  }
};
struct And {
  template <class W>
  W operator()(W a, W b) const {
    return static_cast<W>(a & b);
  }
};
struct Or {
  template <class W>
  W operator()(W a, W b) const {
    return static_cast<W>(a | b);
  }
};
struct Xor {
  template <class W>
  W operator()(W a, W b) const {
    return static_cast<W>(a ^ b);
  }
};
struct ShiftLeft {
  template <class W>
  W operator()(W a, W b) const {
    const auto count = static_cast<Unsigned<W>>(b);
    return count >= sizeof(W) * 8 ? W(0) : static_cast<W>(static_cast<uint64_t>(a) << count);
  }
};
struct ShiftRight {  // arithmetic for signed types, logical for unsigned ones
  template <class W>
  W operator()(W a, W b) const {
    const auto count = static_cast<Unsigned<W>>(b);
    constexpr Unsigned<W> kMost = sizeof(W) * 8 - 1;
    if (count > kMost) return static_cast<W>(std::is_signed_v<W> ? a >> kMost : 0);
    return static_cast<W>(a >> count);
  }
};

struct Not {
  template <class W>
  W operator()(W a) const {
    return static_cast<W>(~a);
  }
};
struct Absolute {
  float operator()(float a) const { return std::fabs(a); }
};
struct Relu {
  template <class W>
  W operator()(W a) const {
    return a > W(0) || a != a ? a : W(0);
  }
};
struct Exponential {
  float operator()(float a) const { return exp_of(a); }
};
struct Logarithm {
  float operator()(float a) const { return ln_of(a); }
};
struct SquareRoot {
  float operator()(float a) const { return std::sqrt(a); }
};
struct Reciprocal {
  float operator()(float a) const { return 1.0f / a; }
};

}  // namespace hivm::micro
