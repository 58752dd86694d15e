// Functions of one operand.
#include <cmath>

#include "ops/arithmetic.h"
#include "ops/map.h"
#include "ops/registry.h"

namespace cann_sim::ops {
namespace {

// `integers`: whether torch_npu may send integers; where false, it casts them to float first.
#define REAL_FUNCTION(Name, expression)     \
  struct Name {                             \
    static constexpr bool integers = false; \
    template <class C>                      \
    static C of(C a) {                      \
      return expression;                    \
    }                                       \
  };
REAL_FUNCTION(Exp, std::exp(a))
REAL_FUNCTION(Expm1, std::expm1(a))
REAL_FUNCTION(Log1p, std::log1p(a))
REAL_FUNCTION(Sqrt, std::sqrt(a))
REAL_FUNCTION(Rsqrt, C(1) / std::sqrt(a))
REAL_FUNCTION(Reciprocal, C(1) / a)
REAL_FUNCTION(Sigmoid, C(1) / (C(1) + std::exp(-a)))
REAL_FUNCTION(Tanh, std::tanh(a))
REAL_FUNCTION(Erf, std::erf(a))
REAL_FUNCTION(Erfc, std::erfc(a))
REAL_FUNCTION(Sin, std::sin(a))
REAL_FUNCTION(Cos, std::cos(a))
REAL_FUNCTION(Tan, std::tan(a))
REAL_FUNCTION(Asin, std::asin(a))
REAL_FUNCTION(Acos, std::acos(a))
REAL_FUNCTION(Atan, std::atan(a))
REAL_FUNCTION(Sinh, std::sinh(a))
REAL_FUNCTION(Cosh, std::cosh(a))
REAL_FUNCTION(Ceil, std::ceil(a))
REAL_FUNCTION(Floor, std::floor(a))
REAL_FUNCTION(Trunc, std::trunc(a))
REAL_FUNCTION(Round, std::nearbyint(a))  // halves to even
#undef REAL_FUNCTION

struct Abs {
  static constexpr bool integers = true;
  template <class C>
  static C of(C a) {
    if constexpr (is_integer<C>)
      return a < 0 ? wrap(-uint64_t(a)) : a;
    else
      return std::fabs(a);
  }
};
struct Neg {
  static constexpr bool integers = true;
  template <class C>
  static C of(C a) {
    if constexpr (is_integer<C>)
      return wrap(-uint64_t(a));
    else
      return -a;
  }
};
struct Square {
  static constexpr bool integers = true;
  template <class C>
  static C of(C a) {
    if constexpr (is_integer<C>)
      return wrap(uint64_t(a) * uint64_t(a));
    else
      return a * a;
  }
};
struct Relu {  // keeps NaN
  static constexpr bool integers = true;
  template <class C>
  static C of(C a) {
    return a < 0 ? C(0) : a;
  }
};
struct Sign {
  static constexpr bool integers = true;
  template <class C>
  static C of(C a) {
    return a > 0 ? C(1) : a < 0 ? C(-1) : a;
  }
};

template <class F>
Plan unary(const std::shared_ptr<const Call>& call) {
  check_broadcast(call->input(0).shape, call->output(0).shape);
  const Arithmetic arithmetic = arithmetic_of(call->input(0).type);
  if (!F::integers && arithmetic == Arithmetic::Integer)
    throw InvalidCall(std::string("integers are not supported: ") + type_name(call->input(0).type),
                      ACL_ERROR_UNSUPPORTED_DATA_TYPE);
  Plan plan;
  plan.compute = [call, arithmetic] {
    with_arithmetic(arithmetic, [&](auto zero) {
      using C = decltype(zero);
      if constexpr (F::integers || !is_integer<C>)
        map_blocks<C, C, 1>({&call->inputs[0]}, call->outputs[0], [](const auto& v, C* out, int64_t n) {
          for (int64_t i = 0; i < n; i++) out[i] = F::template of<C>(v[0][i]);
        });
    });
  };
  return plan;
}

// Maps floats through a function that depends on attributes: f(value) with value float or double.
template <class F>
Plan unary_with(const std::shared_ptr<const Call>& call, F f) {
  check_broadcast(call->input(0).shape, call->output(0).shape);
  const Arithmetic arithmetic = arithmetic_of(call->input(0).type);
  if (arithmetic == Arithmetic::Integer)
    throw InvalidCall(std::string("integers are not supported: ") + type_name(call->input(0).type),
                      ACL_ERROR_UNSUPPORTED_DATA_TYPE);
  Plan plan;
  plan.compute = [call, arithmetic, f] {
    with_arithmetic(arithmetic, [&](auto zero) {
      using C = decltype(zero);
      if constexpr (!is_integer<C>)
        map_blocks<C, C, 1>({&call->inputs[0]}, call->outputs[0], [&](const auto& v, C* out, int64_t n) {
          for (int64_t i = 0; i < n; i++) out[i] = f(v[0][i]);
        });
    });
  };
  return plan;
}

// log(scale * x + shift) in `base`; a base of -1 stands for e.
Plan plan_log(const std::shared_ptr<const Call>& call) {
  const double base = call->attributes.number("base", -1), scale = call->attributes.number("scale", 1),
               shift = call->attributes.number("shift", 0);
  return unary_with(call, [base, scale, shift](auto x) {
    using C = decltype(x);
    const C y = scale == 1 && shift == 0 ? x : C(scale) * x + C(shift);
    // Single functions for the common bases: a quotient of logarithms rounds twice.
    if (base == -1) return std::log(y);
    if (base == 2) return std::log2(y);
    if (base == 10) return std::log10(y);
    return std::log(y) / C(std::log(base));
  });
}

Plan plan_swish(const std::shared_ptr<const Call>& call) {
  const double scale = call->attributes.number("scale", 1);
  return unary_with(call, [scale](auto x) {
    using C = decltype(x);
    return x / (C(1) + std::exp(-C(scale) * x));
  });
}

Plan plan_leaky_relu(const std::shared_ptr<const Call>& call) {
  const double slope = call->attributes.number("negative_slope", 0);
  return unary_with(call, [slope](auto x) {
    using C = decltype(x);
    return x < 0 ? C(slope) * x : x;
  });
}

Plan plan_round(const std::shared_ptr<const Call>& call) {
  if (call->attributes.integer("decimals", 0) != 0)
    throw InvalidCall("rounding to decimals is not supported: decimals = " +
                      std::to_string(call->attributes.integer("decimals", 0)));
  return unary<Round>(call);
}

}  // namespace

void add_unary(Registry& r) {
  r.add("Abs", unary<Abs>);
  r.add("Neg", unary<Neg>);
  r.add("Square", unary<Square>);
  r.add("Sign", unary<Sign>);
  r.add("Relu", unary<Relu>);
  r.add("Exp", unary<Exp>);
  r.add("Expm1", unary<Expm1>);
  r.add("Log1p", unary<Log1p>);
  r.add("Sqrt", unary<Sqrt>);
  r.add("Rsqrt", unary<Rsqrt>);
  r.add("Reciprocal", unary<Reciprocal>);
  r.add("Sigmoid", unary<Sigmoid>);
  r.add("Tanh", unary<Tanh>);
  r.add("Erf", unary<Erf>);
  r.add("Erfc", unary<Erfc>);
  r.add("Sin", unary<Sin>);
  r.add("Cos", unary<Cos>);
  r.add("Tan", unary<Tan>);
  r.add("Asin", unary<Asin>);
  r.add("Acos", unary<Acos>);
  r.add("Atan", unary<Atan>);
  r.add("Sinh", unary<Sinh>);
  r.add("Cosh", unary<Cosh>);
  r.add("Ceil", unary<Ceil>);
  r.add("Floor", unary<Floor>);
  r.add("Trunc", unary<Trunc>);
  r.add("Round", plan_round);
  r.add("Log", plan_log);
  r.add("Swish", plan_swish);
  r.add("LeakyRelu", plan_leaky_relu);
}

}  // namespace cann_sim::ops
