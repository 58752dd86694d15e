// Functions of one operand.
#include <cmath>

#include "ops/arithmetic.h"
#include "ops/map_plan.h"

namespace cann_sim::ops {
namespace {

// ---- floats; integers are computed in float -----------------------------------------------------------
FLOAT_FUNCTION(Exp, (C a), std::exp(a))
FLOAT_FUNCTION(Expm1, (C a), std::expm1(a))
FLOAT_FUNCTION(Log1p, (C a), std::log1p(a))
FLOAT_FUNCTION(Sqrt, (C a), std::sqrt(a))
FLOAT_FUNCTION(Rsqrt, (C a), C(1) / std::sqrt(a))
FLOAT_FUNCTION(Reciprocal, (C a), C(1) / a)
FLOAT_FUNCTION(Erf, (C a), std::erf(a))
FLOAT_FUNCTION(Erfc, (C a), std::erfc(a))
FLOAT_FUNCTION(Sin, (C a), std::sin(a))
FLOAT_FUNCTION(Cos, (C a), std::cos(a))
FLOAT_FUNCTION(Tan, (C a), std::tan(a))
FLOAT_FUNCTION(Asin, (C a), std::asin(a))
FLOAT_FUNCTION(Acos, (C a), std::acos(a))
FLOAT_FUNCTION(Atan, (C a), std::atan(a))
FLOAT_FUNCTION(Sinh, (C a), std::sinh(a))
FLOAT_FUNCTION(Cosh, (C a), std::cosh(a))
FLOAT_FUNCTION(Asinh, (C a), std::asinh(a))
FLOAT_FUNCTION(Acosh, (C a), std::acosh(a))
FLOAT_FUNCTION(Atanh, (C a), std::atanh(a))
FLOAT_FUNCTION(Ceil, (C a), std::ceil(a))
FLOAT_FUNCTION(Floor, (C a), std::floor(a))
FLOAT_FUNCTION(Trunc, (C a), std::trunc(a))

// ---- floats and integers --------------------------------------------------------------------------------
struct Abs {
  template <class C>
  static C of(C a) {
    if constexpr (is_integer<C>)
      return a < 0 ? wrap(-uint64_t(a)) : a;
    else
      return std::fabs(a);
  }
};
struct Neg {
  template <class C>
  static C of(C a) {
    if constexpr (is_integer<C>)
      return wrap(-uint64_t(a));
    else
      return -a;
  }
};
struct Square {
  template <class C>
  static C of(C a) {
    if constexpr (is_integer<C>)
      return wrap(uint64_t(a) * uint64_t(a));
    else
      return a * a;
  }
};
struct Sign {
  template <class C>
  static C of(C a) {
    return a > 0 ? C(1) : a < 0 ? C(-1) : a;
  }
};

template <class F>
Plan unary(const std::shared_ptr<const Call>& call) {
  check_broadcast(call->input(0).shape, call->output(0).shape);
  const Arithmetic arithmetic = arithmetic_of(call->input(0).type);
  Plan plan;
  plan.compute = [call, arithmetic] {
    with_arithmetic(arithmetic, [&](auto zero) {
      using C = decltype(zero);
      map_blocks<C, C, 1>({&call->inputs[0]}, call->outputs[0], [](const auto& v, C* out, int64_t n) {
        for (int64_t i = 0; i < n; i++) out[i] = F::template of<C>(v[0][i]);
      });
    });
  };
  return plan;
}

Plan plan_invert(const std::shared_ptr<const Call>& call) {
  if (arithmetic_of(call->input(0).type) != Arithmetic::Integer || call->input(0).type == ACL_BOOL)
    throw InvalidCall(std::string("only integers are supported, not ") + type_name(call->input(0).type),
                      ACL_ERROR_UNSUPPORTED_DATA_TYPE);
  check_broadcast(call->input(0).shape, call->output(0).shape);
  Plan plan;
  plan.compute = [call] {
    map_blocks<int64_t, int64_t, 1>({&call->inputs[0]}, call->outputs[0],
                                    [](const auto& v, int64_t* out, int64_t n) {
                                      for (int64_t i = 0; i < n; i++) out[i] = ~v[0][i];
                                    });
  };
  return plan;
}

// The inverse of erf: Winitzki's approximation (2008, error below 2e-3), then Newton steps, each of which
// doubles the number of right digits.
double erfinv(double x) {
  if (!(std::fabs(x) < 1)) return std::fabs(x) == 1 ? std::copysign(INFINITY, x) : NAN;
  constexpr double kA = 0.147;
  const double log = std::log((1 - x) * (1 + x)), half = 2 / (M_PI * kA) + log / 2;
  double y = std::copysign(std::sqrt(std::sqrt(half * half - log / kA) - half), x);
  for (int step = 0; step < 3; step++) y -= (std::erf(y) - x) / (M_2_SQRTPI * std::exp(-y * y));
  return y;
}
Plan plan_erfinv(const std::shared_ptr<const Call>& call) {
  return map_floats<1>(call, [](auto x) { return static_cast<decltype(x)>(erfinv(static_cast<double>(x))); });
}

// log(scale * x + shift) in `base`; a base of -1 stands for e.
Plan plan_log(const std::shared_ptr<const Call>& call) {
  const double base = call->attributes.number("base", -1), scale = call->attributes.number("scale", 1),
               shift = call->attributes.number("shift", 0);
  return map_floats<1>(call, [base, scale, shift](auto x) {
    using C = decltype(x);
    const C y = scale == 1 && shift == 0 ? x : C(scale) * x + C(shift);
    // Single functions for the common bases: a quotient of logarithms rounds twice.
    if (base == -1) return std::log(y);
    if (base == 2) return std::log2(y);
    if (base == 10) return std::log10(y);
    return std::log(y) / C(std::log(base));
  });
}

// Halves to even; with `decimals` digits after the point, or zeros before it if negative.
Plan plan_round(const std::shared_ptr<const Call>& call) {
  const int64_t decimals = call->attributes.integer("decimals", 0);
  const double power = std::pow(10.0, static_cast<double>(std::abs(decimals)));
  return map_floats<1>(call, [decimals, power](auto x) {
    using C = decltype(x);
    if (decimals == 0) return std::nearbyint(x);
    return decimals > 0 ? std::nearbyint(x * C(power)) / C(power) : std::nearbyint(x / C(power)) * C(power);
  });
}

Plan plan_nan_to_num(const std::shared_ptr<const Call>& call) {
  const double nan = call->attributes.number("nan", 0), high = call->attributes.number("posinf", INFINITY),
               low = call->attributes.number("neginf", -INFINITY);
  return map_floats<1>(call, [nan, high, low](auto x) {
    using C = decltype(x);
    if (std::isnan(x)) return C(nan);
    return std::isinf(x) ? C(x > 0 ? high : low) : x;
  });
}

}  // namespace

void add_unary(Registry& r) {
  r.add("Abs", unary<Abs>);
  r.add("Neg", unary<Neg>);
  r.add("Square", unary<Square>);
  r.add("Sign", unary<Sign>);
  r.add("Invert", plan_invert);
  r.add("Exp", map_function<1, Exp>);
  r.add("Expm1", map_function<1, Expm1>);
  r.add("Log1p", map_function<1, Log1p>);
  r.add("Sqrt", map_function<1, Sqrt>);
  r.add("Rsqrt", map_function<1, Rsqrt>);
  r.add("Reciprocal", map_function<1, Reciprocal>);
  r.add("Erf", map_function<1, Erf>);
  r.add("Erfc", map_function<1, Erfc>);
  r.add("Sin", map_function<1, Sin>);
  r.add("Cos", map_function<1, Cos>);
  r.add("Tan", map_function<1, Tan>);
  r.add("Asin", map_function<1, Asin>);
  r.add("Acos", map_function<1, Acos>);
  r.add("Atan", map_function<1, Atan>);
  r.add("Sinh", map_function<1, Sinh>);
  r.add("Cosh", map_function<1, Cosh>);
  r.add("Asinh", map_function<1, Asinh>);
  r.add("Acosh", map_function<1, Acosh>);
  r.add("Atanh", map_function<1, Atanh>);
  r.add("Ceil", map_function<1, Ceil>);
  r.add("Floor", map_function<1, Floor>);
  r.add("Trunc", map_function<1, Trunc>);
  r.add("Erfinv", plan_erfinv);
  r.add("Round", plan_round);
  r.add("Log", plan_log);
  r.add("NanToNum", plan_nan_to_num);
}

}  // namespace cann_sim::ops
