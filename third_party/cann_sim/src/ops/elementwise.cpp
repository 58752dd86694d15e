// Arithmetic of two, three or four broadcast operands.
#include <cmath>

#include "ops/arithmetic.h"
#include "ops/map_plan.h"

namespace cann_sim::ops {
namespace {

// ---- functions of two operands -------------------------------------------------------------------
struct Add {
  template <class C>
  static C of(C a, C b) {
    if constexpr (is_integer<C>)
      return wrap(uint64_t(a) + uint64_t(b));
    else
      return a + b;
  }
};
struct Sub {
  template <class C>
  static C of(C a, C b) {
    if constexpr (is_integer<C>)
      return wrap(uint64_t(a) - uint64_t(b));
    else
      return a - b;
  }
};
struct Mul {
  template <class C>
  static C of(C a, C b) {
    if constexpr (is_integer<C>)
      return wrap(uint64_t(a) * uint64_t(b));
    else
      return a * b;
  }
};
// Rounds towards zero for integers. What an integer division by zero gives is this engine's choice: 0.
struct Div {
  template <class C>
  static C of(C a, C b) {
    if constexpr (is_integer<C>)
      return b == 0 ? 0 : b == -1 ? wrap(-uint64_t(a)) : a / b;
    else
      return a / b;
  }
};
// The remainder has the sign of the divisor.
struct FloorMod {
  template <class C>
  static C of(C a, C b) {
    if constexpr (is_integer<C>) {
      if (b == 0 || b == -1) return 0;
      const C rest = a % b;
      return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
    } else {
      const C rest = std::fmod(a, b);
      return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
    }
  }
};
// Floats by way of the remainder, as torch does: floor(a / b) can be one too large when a / b rounds up to an
// integer.
struct FloorDiv {
  template <class C>
  static C of(C a, C b) {
    if constexpr (is_integer<C>) {
      const C quotient = Div::of(a, b);
      return b != 0 && b != -1 && a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
    } else {
      if (b == 0) return a / b;
      const C quotient = (a - FloorMod::of(a, b)) / b;
      if (quotient == 0) return std::copysign(C(0), a / b);
      const C rounded = std::floor(quotient);
      return quotient - rounded > C(0.5) ? rounded + 1 : rounded;
    }
  }
};
struct TruncateMod {
  template <class C>
  static C of(C a, C b) {
    if constexpr (is_integer<C>)
      return b == 0 || b == -1 ? 0 : a % b;
    else
      return std::fmod(a, b);
  }
};
struct Maximum {  // NaN if either is
  template <class C>
  static C of(C a, C b) {
    return a > b || a != a ? a : b;
  }
};
struct Minimum {
  template <class C>
  static C of(C a, C b) {
    return a < b || a != a ? a : b;
  }
};
struct Pow {
  template <class C>
  static C of(C a, C b) {
    if constexpr (is_integer<C>) {
      if (b < 0) return a == 1 ? 1 : a == -1 ? (b % 2 ? -1 : 1) : 0;
      uint64_t result = 1, base = static_cast<uint64_t>(a);
      for (; b; b >>= 1, base *= base)
        if (b & 1) result *= base;
      return wrap(result);
    } else {
      return std::pow(a, b);
    }
  }
};
struct SquaredDifference {
  template <class C>
  static C of(C a, C b) {
    const C d = Sub::of(a, b);
    return Mul::of(d, d);
  }
};
template <class F>
Plan binary(const std::shared_ptr<const Call>& call) {
  call->output(0);
  const std::array<const Tensor*, 2> inputs{&call->input(0), &call->input(1)};
  const Shape shape = broadcast_shape({&inputs[0]->shape, &inputs[1]->shape});
  check_broadcast(shape, call->output(0).shape);
  const Arithmetic arithmetic = common_arithmetic(inputs);
  Plan plan;
  plan.compute = [call, arithmetic] {
    const std::array<const Tensor*, 2> in{&call->inputs[0], &call->inputs[1]};
    with_arithmetic(arithmetic, [&](auto zero) {
      using C = decltype(zero);
      map_blocks<C, C, 2>(in, call->outputs[0], [](const auto& v, C* out, int64_t n) {
        for (int64_t i = 0; i < n; i++) out[i] = F::template of<C>(v[0][i], v[1][i]);
      });
    });
  };
  return plan;
}

// ---- bits: integers and bool only ------------------------------------------------------------------
template <int64_t (*F)(int64_t, int64_t)>
Plan bitwise(const std::shared_ptr<const Call>& call) {
  call->output(0);
  for (size_t k = 0; k < 2; k++)
    if (arithmetic_of(call->input(k).type) != Arithmetic::Integer)
      throw InvalidCall(
          std::string("only integers and bool are supported, not ") + type_name(call->input(k).type),
          ACL_ERROR_UNSUPPORTED_DATA_TYPE);
  check_broadcast(broadcast_shape({&call->input(0).shape, &call->input(1).shape}), call->output(0).shape);
  Plan plan;
  plan.compute = [call] {
    map_blocks<int64_t, int64_t, 2>({&call->inputs[0], &call->inputs[1]}, call->outputs[0],
                                    [](const auto& v, int64_t* out, int64_t n) {
                                      for (int64_t i = 0; i < n; i++) out[i] = F(v[0][i], v[1][i]);
                                    });
  };
  return plan;
}
int64_t bit_and(int64_t a, int64_t b) { return a & b; }
int64_t bit_or(int64_t a, int64_t b) { return a | b; }
int64_t bit_xor(int64_t a, int64_t b) { return a ^ b; }
int64_t shift_left(int64_t a, int64_t b) { return b < 0 || b > 63 ? 0 : wrap(uint64_t(a) << b); }
int64_t shift_right(int64_t a, int64_t b) { return b < 0 || b > 63 ? (a < 0 ? -1 : 0) : a >> b; }

// ---- functions of three operands -----------------------------------------------------------------------
struct Axpy {  // input + alpha * other
  template <class C>
  static C of(C a, C b, C alpha) {
    return Add::of(a, Mul::of(b, alpha));
  }
};
struct Clip {  // NaN stays
  template <class C>
  static C of(C a, C low, C high) {
    const C raised = a < low ? low : a;
    return raised > high ? high : raised;
  }
};

template <class F>
Plan ternary(const std::shared_ptr<const Call>& call) {
  const std::array<const Tensor*, 3> inputs{&call->input(0), &call->input(1), &call->input(2)};
  check_broadcast(broadcast_shape({&inputs[0]->shape, &inputs[1]->shape, &inputs[2]->shape}),
                  call->output(0).shape);
  const Arithmetic arithmetic = common_arithmetic(inputs);
  Plan plan;
  plan.compute = [call, arithmetic] {
    with_arithmetic(arithmetic, [&](auto zero) {
      using C = decltype(zero);
      map_blocks<C, C, 3>({&call->inputs[0], &call->inputs[1], &call->inputs[2]}, call->outputs[0],
                          [](const auto& v, C* out, int64_t n) {
                            for (int64_t i = 0; i < n; i++)
                              out[i] = F::template of<C>(v[0][i], v[1][i], v[2][i]);
                          });
    });
  };
  return plan;
}

struct Lerp {  // from the end that the weight is nearer to
  template <class C>
  static C of(C a, C b, C weight) {
    return std::fabs(weight) < C(0.5) ? a + weight * (b - a) : b - (b - a) * (C(1) - weight);
  }
};

// ---- floats only -----------------------------------------------------------------------------------------
FLOAT_FUNCTION(Atan2, (C a, C b), std::atan2(a, b))
FLOAT_FUNCTION(Xlogy, (C a, C b), a == 0 && b == b ? C(0) : a * std::log(b))

// log(base^a + base^b); a base of -1 stands for e.
Plan plan_log_add_exp(const std::shared_ptr<const Call>& call) {
  const double base = call->attributes.number("base", -1), unit = base == -1 ? 1 : std::log(base);
  return map_floats<2>(call, [unit](auto a, auto b) {
    using C = decltype(a);
    const C high = std::max(a, b);
    if (std::isinf(high) || a != a || b != b) return a == b ? a : a + b;
    return high + std::log1p(std::exp(-std::fabs(a - b) * C(unit))) / C(unit);
  });
}

// ---- functions of four operands: x + value * (a * b) or (a / b)
// --------------------------------------------
template <class F>
Plan plan_add_combined(const std::shared_ptr<const Call>& call) {
  for (size_t k = 0; k < 4; k++) check_broadcast(call->input(k).shape, call->output(0).shape);
  const Arithmetic arithmetic = common_arithmetic<3>({&call->input(0), &call->input(1), &call->input(2)});
  Plan plan;
  plan.compute = [call, arithmetic] {
    with_arithmetic(arithmetic, [&](auto zero) {
      using C = decltype(zero);
      map_blocks<C, C, 4>({&call->inputs[0], &call->inputs[1], &call->inputs[2], &call->inputs[3]},
                          call->outputs[0], [](const auto& v, C* out, int64_t n) {
                            for (int64_t i = 0; i < n; i++)
                              out[i] = Add::of(v[0][i], Mul::of(v[3][i], F::of(v[1][i], v[2][i])));
                          });
    });
  };
  return plan;
}

}  // namespace

void add_elementwise(Registry& r) {
  r.add("Add", binary<Add>);
  r.add("Sub", binary<Sub>);
  r.add("Mul", binary<Mul>);
  r.add("RealDiv", binary<Div>);
  r.add("Div", binary<Div>);
  r.add("FloorDiv", binary<FloorDiv>);
  r.add("FloorMod", binary<FloorMod>);
  r.add("Mod", binary<TruncateMod>);
  r.add("Maximum", binary<Maximum>);
  r.add("Minimum", binary<Minimum>);
  r.add("Pow", binary<Pow>);
  r.add("SquaredDifference", binary<SquaredDifference>);
  r.add("Atan2", map_function<2, Atan2>);
  r.add("Xlogy", map_function<2, Xlogy>);
  r.add("LogAddExp", plan_log_add_exp);
  r.add("BitwiseAnd", bitwise<bit_and>);
  r.add("BitwiseOr", bitwise<bit_or>);
  r.add("BitwiseXor", bitwise<bit_xor>);
  r.add("LeftShift", bitwise<shift_left>);
  r.add("RightShift", bitwise<shift_right>);
  r.add("AxpyV2", ternary<Axpy>);
  r.add("Lerp", map_function<3, Lerp>);
  r.add("Addcmul", plan_add_combined<Mul>);
  r.add("Addcdiv", plan_add_combined<Div>);
  r.add("ClipByValueV2", ternary<Clip>);
  r.add("ClipByValue", ternary<Clip>);
}

}  // namespace cann_sim::ops
