// Steps on integers.
#include <unordered_map>

#include "hivm/scalar.h"
#include "hivm/steps.h"

namespace hivm {
namespace {

using Next = step::Next;

// Wrap-around arithmetic is done on unsigned numbers: it is defined for all values.
uint64_t u(int64_t x) { return static_cast<uint64_t>(x); }

constexpr uint64_t low_bits(Element e) { return e == Element::I64 ? ~0ull : (1ull << bits_of(e)) - 1; }

// An i1 is held as 0 or 1; as a signed number it is 0 or -1.
template <Element E>
int64_t as_signed(int64_t x) {
  return E == Element::I1 ? -x : x;
}

struct Add {
  template <Element E>
  static int64_t of(int64_t a, int64_t b) {
    return u(a) + u(b);
  }
};
struct Subtract {
  template <Element E>
  static int64_t of(int64_t a, int64_t b) {
    return u(a) - u(b);
  }
};
struct Multiply {
  template <Element E>
  static int64_t of(int64_t a, int64_t b) {
    return u(a) * u(b);
  }
};
struct And {
  template <Element E>
  static int64_t of(int64_t a, int64_t b) {
    return a & b;
  }
};
struct Or {
  template <Element E>
  static int64_t of(int64_t a, int64_t b) {
    return a | b;
  }
};
struct Xor {
  template <Element E>
  static int64_t of(int64_t a, int64_t b) {
    return a ^ b;
  }
};
// MLIR leaves divisions by zero undefined. Kernels divide by the zeros of masked lanes, so they must not stop
// one; what they give is this engine's choice: 0.
struct DivideSigned {
  template <Element E>
  static int64_t of(int64_t a, int64_t b) {
    if (b == 0) return 0;
    if (b == -1) return -u(a);  // INT64_MIN / -1 traps on the host
    return as_signed<E>(a) / as_signed<E>(b);
  }
};
struct RemainderSigned {
  template <Element E>
  static int64_t of(int64_t a, int64_t b) {
    if (b == 0 || b == -1) return 0;
    return as_signed<E>(a) % as_signed<E>(b);
  }
};
struct DivideUnsigned {
  template <Element E>
  static int64_t of(int64_t a, int64_t b) {
    if (b == 0) return 0;
    return (u(a) & low_bits(E)) / (u(b) & low_bits(E));
  }
};
struct RemainderUnsigned {
  template <Element E>
  static int64_t of(int64_t a, int64_t b) {
    if (b == 0) return 0;
    return (u(a) & low_bits(E)) % (u(b) & low_bits(E));
  }
};
// A shift by the width or more leaves zero (or the sign).
struct ShiftLeft {
  template <Element E>
  static int64_t of(int64_t a, int64_t b) {
    return (u(b) & low_bits(E)) >= static_cast<uint64_t>(bits_of(E)) ? 0 : u(a) << b;
  }
};
struct ShiftRightSigned {
  template <Element E>
  static int64_t of(int64_t a, int64_t b) {
    const uint64_t by = u(b) & low_bits(E);
    return as_signed<E>(a) >> (by > 63 ? 63 : by);
  }
};
struct ShiftRightUnsigned {
  template <Element E>
  static int64_t of(int64_t a, int64_t b) {
    const uint64_t by = u(b) & low_bits(E);
    return by > 63 ? 0 : (u(a) & low_bits(E)) >> by;
  }
};
struct MaxSigned {
  template <Element E>
  static int64_t of(int64_t a, int64_t b) {
    return as_signed<E>(a) < as_signed<E>(b) ? b : a;
  }
};
struct MinSigned {
  template <Element E>
  static int64_t of(int64_t a, int64_t b) {
    return as_signed<E>(b) < as_signed<E>(a) ? b : a;
  }
};
struct MaxUnsigned {
  template <Element E>
  static int64_t of(int64_t a, int64_t b) {
    return (u(a) & low_bits(E)) < (u(b) & low_bits(E)) ? b : a;
  }
};
struct MinUnsigned {
  template <Element E>
  static int64_t of(int64_t a, int64_t b) {
    return (u(b) & low_bits(E)) < (u(a) & low_bits(E)) ? b : a;
  }
};

template <class F, Element E>
Next integer_step(Next p, Frame& f) {
  f.scalars[p->d].i = wrap_to(E, F::template of<E>(f.scalars[p->a].i, f.scalars[p->b].i));
  return p + 1;
}

template <class F>
Step by_width(Element e) {
  switch (e) {
    case Element::I64:
      return integer_step<F, Element::I64>;
    case Element::I32:
      return integer_step<F, Element::I32>;
    case Element::I16:
      return integer_step<F, Element::I16>;
    case Element::I8:
      return integer_step<F, Element::I8>;
    case Element::I1:
      return integer_step<F, Element::I1>;
    default:
      return nullptr;
  }
}

enum class Compare { Eq, Ne, Slt, Sle, Sgt, Sge, Ult, Ule, Ugt, Uge };

template <Compare C, Element E>
Next compare_step(Next p, Frame& f) {
  const int64_t a = as_signed<E>(f.scalars[p->a].i), b = as_signed<E>(f.scalars[p->b].i);
  const uint64_t x = u(a) & low_bits(E), y = u(b) & low_bits(E);
  bool r = false;
  switch (C) {
    case Compare::Eq:
      r = a == b;
      break;
    case Compare::Ne:
      r = a != b;
      break;
    case Compare::Slt:
      r = a < b;
      break;
    case Compare::Sle:
      r = a <= b;
      break;
    case Compare::Sgt:
      r = a > b;
      break;
    case Compare::Sge:
      r = a >= b;
      break;
    case Compare::Ult:
      r = x < y;
      break;
    case Compare::Ule:
      r = x <= y;
      break;
    case Compare::Ugt:
      r = x > y;
      break;
    case Compare::Uge:
      r = x >= y;
      break;
  }
  f.scalars[p->d].i = r;
  return p + 1;
}

template <Compare C>
Step compare_by_width(Element e) {
  switch (e) {
    case Element::I64:
      return compare_step<C, Element::I64>;
    case Element::I32:
      return compare_step<C, Element::I32>;
    case Element::I16:
      return compare_step<C, Element::I16>;
    case Element::I8:
      return compare_step<C, Element::I8>;
    case Element::I1:
      return compare_step<C, Element::I1>;
    default:
      return nullptr;
  }
}

}  // namespace

Step integer_binary(std::string_view name, Element e) {
  using Choice = Step (*)(Element);
  static const std::unordered_map<std::string_view, Choice> kTable = {{"addi", by_width<Add>},
                                                                      {"subi", by_width<Subtract>},
                                                                      {"muli", by_width<Multiply>},
                                                                      {"divsi", by_width<DivideSigned>},
                                                                      {"remsi", by_width<RemainderSigned>},
                                                                      {"divui", by_width<DivideUnsigned>},
                                                                      {"remui", by_width<RemainderUnsigned>},
                                                                      {"andi", by_width<And>},
                                                                      {"ori", by_width<Or>},
                                                                      {"xori", by_width<Xor>},
                                                                      {"shli", by_width<ShiftLeft>},
                                                                      {"shrsi", by_width<ShiftRightSigned>},
                                                                      {"shrui", by_width<ShiftRightUnsigned>},
                                                                      {"maxsi", by_width<MaxSigned>},
                                                                      {"minsi", by_width<MinSigned>},
                                                                      {"maxui", by_width<MaxUnsigned>},
                                                                      {"minui", by_width<MinUnsigned>}};
  const auto found = kTable.find(name);
  return found == kTable.end() ? nullptr : found->second(e);
}
Step integer_compare(std::string_view predicate, Element e) {
  using Choice = Step (*)(Element);
  static const std::unordered_map<std::string_view, Choice> kTable = {
      {"eq", compare_by_width<Compare::Eq>},   {"ne", compare_by_width<Compare::Ne>},
      {"slt", compare_by_width<Compare::Slt>}, {"sle", compare_by_width<Compare::Sle>},
      {"sgt", compare_by_width<Compare::Sgt>}, {"sge", compare_by_width<Compare::Sge>},
      {"ult", compare_by_width<Compare::Ult>}, {"ule", compare_by_width<Compare::Ule>},
      {"ugt", compare_by_width<Compare::Ugt>}, {"uge", compare_by_width<Compare::Uge>}};
  const auto found = kTable.find(predicate);
  return found == kTable.end() ? nullptr : found->second(e);
}

namespace step {

Next select(Next p, Frame& f) {
  f.scalars[p->d] = f.scalars[p->a].i ? f.scalars[p->b] : f.scalars[p->c];
  return p + 1;
}

Next wrap_i32(Next p, Frame& f) {
  f.scalars[p->d].i = wrap_to(Element::I32, f.scalars[p->a].i);
  return p + 1;
}

Next wrap_i16(Next p, Frame& f) {
  f.scalars[p->d].i = wrap_to(Element::I16, f.scalars[p->a].i);
  return p + 1;
}

Next wrap_i8(Next p, Frame& f) {
  f.scalars[p->d].i = wrap_to(Element::I8, f.scalars[p->a].i);
  return p + 1;
}

Next wrap_i1(Next p, Frame& f) {
  f.scalars[p->d].i = f.scalars[p->a].i & 1;
  return p + 1;
}

Next mask(Next p, Frame& f) {
  f.scalars[p->d].i = f.scalars[p->a].i & p->extra;
  return p + 1;
}

Next sign_of_bit(Next p, Frame& f) {
  f.scalars[p->d].i = -f.scalars[p->a].i;
  return p + 1;
}

Next multiply_extended(Next p, Frame& f) {
  int64_t a = f.scalars[p->a].i, b = f.scalars[p->b].i;
  if (p->extra) a &= 0xFFFFFFFF, b &= 0xFFFFFFFF;
  const uint64_t product = u(a) * u(b);
  f.scalars[p->c].i = wrap_to(Element::I32, static_cast<int64_t>(product));
  f.scalars[p->d].i = wrap_to(Element::I32, static_cast<int64_t>(product >> 32));
  return p + 1;
}

Next multiply_extended64(Next p, Frame& f) {
  const int64_t a = f.scalars[p->a].i, b = f.scalars[p->b].i;
  const unsigned __int128 product = p->extra ? static_cast<unsigned __int128>(u(a)) * u(b)
                                             : static_cast<unsigned __int128>(static_cast<__int128>(a) * b);
  f.scalars[p->c].i = static_cast<int64_t>(product);
  f.scalars[p->d].i = static_cast<int64_t>(product >> 64);
  return p + 1;
}

Next floor_divide(Next p, Frame& f) {
  const int64_t a = f.scalars[p->a].i, b = f.scalars[p->b].i;
  if (b == 0 || b == -1) {
    f.scalars[p->d].i = b == 0 ? 0 : -u(a);
    return p + 1;
  }
  const int64_t q = a / b;
  f.scalars[p->d].i = q - (a % b != 0 && (a < 0) != (b < 0));
  return p + 1;
}

Next ceil_divide(Next p, Frame& f) {
  const int64_t a = f.scalars[p->a].i, b = f.scalars[p->b].i;
  if (b == 0 || b == -1) {
    f.scalars[p->d].i = b == 0 ? 0 : -u(a);
    return p + 1;
  }
  const int64_t q = a / b;
  f.scalars[p->d].i = q + (a % b != 0 && (a < 0) == (b < 0));
  return p + 1;
}

Next floor_mod(Next p, Frame& f) {
  const int64_t a = f.scalars[p->a].i, b = f.scalars[p->b].i;
  const int64_t r = b == 0 || b == -1 ? 0 : a % b;
  f.scalars[p->d].i = r + (r != 0 && (r < 0) != (b < 0) ? b : 0);
  return p + 1;
}

}  // namespace step
}  // namespace hivm
