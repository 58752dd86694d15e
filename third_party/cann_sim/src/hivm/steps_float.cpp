// Steps on floating point numbers.
#include <cmath>
#include <unordered_map>

#include "hivm/scalar.h"
#include "hivm/steps.h"

namespace hivm {
namespace {

using Next = step::Next;

// Each names the operation in double; the step rounds the result to the element type.
struct AddF {
  static double of(double a, double b) { return a + b; }
};
struct SubtractF {
  static double of(double a, double b) { return a - b; }
};
struct MultiplyF {
  static double of(double a, double b) { return a * b; }
};
struct DivideF {
  static double of(double a, double b) { return a / b; }
};
// NaN in, NaN out.
struct MaximumF {
  static double of(double a, double b) { return a != a || b != b ? NAN : a < b ? b : a; }
};
struct MinimumF {
  static double of(double a, double b) { return a != a || b != b ? NAN : b < a ? b : a; }
};
// The number, where one side is NaN.
struct MaxNumF {
  static double of(double a, double b) { return std::fmax(a, b); }
};
struct MinNumF {
  static double of(double a, double b) { return std::fmin(a, b); }
};

template <class F, Element E>
Next float_step(Next p, Frame& f) {
  f.scalars[p->d].f = round_to(E, F::of(f.scalars[p->a].f, f.scalars[p->b].f));
  return p + 1;
}

struct Sqrt {
  static double of(double a) { return std::sqrt(a); }
};
struct Abs {
  static double of(double a) { return std::fabs(a); }
};
struct Exp {
  static double of(double a) { return std::exp(a); }
};
struct Log {
  static double of(double a) { return std::log(a); }
};
struct Negate {
  static double of(double a) { return -a; }
};

template <class F, Element E>
Next float_unary_step(Next p, Frame& f) {
  f.scalars[p->d].f = round_to(E, F::of(f.scalars[p->a].f));
  return p + 1;
}

template <template <class, Element> class Chosen, class F>
Step by_float(Element e) {
  switch (e) {
    case Element::F64:
      return Chosen<F, Element::F64>::step;
    case Element::F32:
      return Chosen<F, Element::F32>::step;
    case Element::F16:
      return Chosen<F, Element::F16>::step;
    case Element::BF16:
      return Chosen<F, Element::BF16>::step;
    default:
      return nullptr;
  }
}

template <class F, Element E>
struct Two {
  static constexpr Step step = float_step<F, E>;
};
template <class F, Element E>
struct One {
  static constexpr Step step = float_unary_step<F, E>;
};

template <class F>
Next float_compare_step(Next p, Frame& f) {
  f.scalars[p->d].i = F::of(f.scalars[p->a].f, f.scalars[p->b].f);
  return p + 1;
}
struct Oeq {
  static bool of(double a, double b) { return a == b; }
};
struct Une {
  static bool of(double a, double b) { return a != b; }
};
struct One_ {
  static bool of(double a, double b) { return a < b || a > b; }
};
struct Olt {
  static bool of(double a, double b) { return a < b; }
};
struct Ole {
  static bool of(double a, double b) { return a <= b; }
};
struct Ogt {
  static bool of(double a, double b) { return a > b; }
};
struct Oge {
  static bool of(double a, double b) { return a >= b; }
};

template <Element E>
Next to_float_step(Next p, Frame& f) {
  f.scalars[p->d].f = round_to(E, f.scalars[p->a].f);
  return p + 1;
}

// An int64 is rounded once, straight to the target: through double it could be rounded twice.
template <Element E>
Next from_integer_step(Next p, Frame& f) {
  const int64_t a = f.scalars[p->a].i;
  f.scalars[p->d].f = E == Element::F32 ? static_cast<float>(a) : round_to(E, static_cast<double>(a));
  return p + 1;
}

// Truncates; out of range saturates, NaN gives 0 (not established for the hardware).
template <Element E>
Next to_integer_step(Next p, Frame& f) {
  const double a = std::trunc(f.scalars[p->a].f);
  constexpr int kBits = bits_of(E);
  const double limit = std::ldexp(1.0, kBits - 1);
  int64_t r = 0;
  if (a >= limit)
    r = static_cast<int64_t>((1ull << (kBits - 1)) - 1);
  else if (a < -limit)
    r = -static_cast<int64_t>((1ull << (kBits - 1)) - 1) - 1;
  else if (a == a)
    r = static_cast<int64_t>(a);
  f.scalars[p->d].i = wrap_to(E, r);
  return p + 1;
}

}  // namespace

Step float_binary(std::string_view name, Element e) {
  using Choice = Step (*)(Element);
  static const std::unordered_map<std::string_view, Choice> kTable = {
      {"addf", by_float<Two, AddF>},         {"subf", by_float<Two, SubtractF>},
      {"mulf", by_float<Two, MultiplyF>},    {"divf", by_float<Two, DivideF>},
      {"maximumf", by_float<Two, MaximumF>}, {"minimumf", by_float<Two, MinimumF>},
      {"maxnumf", by_float<Two, MaxNumF>},   {"minnumf", by_float<Two, MinNumF>}};
  const auto found = kTable.find(name);
  return found == kTable.end() ? nullptr : found->second(e);
}

Step float_unary(std::string_view name, Element e) {
  using Choice = Step (*)(Element);
  static const std::unordered_map<std::string_view, Choice> kTable = {{"sqrt", by_float<One, Sqrt>},
                                                                      {"absf", by_float<One, Abs>},
                                                                      {"exp", by_float<One, Exp>},
                                                                      {"log", by_float<One, Log>},
                                                                      {"negf", by_float<One, Negate>}};
  const auto found = kTable.find(name);
  return found == kTable.end() ? nullptr : found->second(e);
}
Step float_compare(std::string_view predicate) {
  static const std::unordered_map<std::string_view, Step> kTable = {
      {"oeq", float_compare_step<Oeq>}, {"une", float_compare_step<Une>}, {"one", float_compare_step<One_>},
      {"olt", float_compare_step<Olt>}, {"ole", float_compare_step<Ole>}, {"ogt", float_compare_step<Ogt>},
      {"oge", float_compare_step<Oge>}};
  const auto found = kTable.find(predicate);
  return found == kTable.end() ? nullptr : found->second;
}

Step float_to_float(Element to) {
  switch (to) {
    case Element::F64:
      return to_float_step<Element::F64>;
    case Element::F32:
      return to_float_step<Element::F32>;
    case Element::F16:
      return to_float_step<Element::F16>;
    case Element::BF16:
      return to_float_step<Element::BF16>;
    default:
      return nullptr;
  }
}

Step integer_to_float(Element to) {
  switch (to) {
    case Element::F64:
      return from_integer_step<Element::F64>;
    case Element::F32:
      return from_integer_step<Element::F32>;
    case Element::F16:
      return from_integer_step<Element::F16>;
    case Element::BF16:
      return from_integer_step<Element::BF16>;
    default:
      return nullptr;
  }
}

Step float_to_integer(Element to) {
  switch (to) {
    case Element::I64:
      return to_integer_step<Element::I64>;
    case Element::I32:
      return to_integer_step<Element::I32>;
    case Element::I16:
      return to_integer_step<Element::I16>;
    case Element::I8:
      return to_integer_step<Element::I8>;
    default:
      return nullptr;
  }
}

}  // namespace hivm
