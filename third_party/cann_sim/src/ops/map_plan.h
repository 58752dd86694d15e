// Plans of elementwise functions of floats: out[i] = f(in0[i], in1[i], ...), broadcast.
#pragma once
#include <array>
#include <memory>
#include <utility>

#include "ops/map.h"
#include "ops/registry.h"

namespace cann_sim::ops {

// Float, or double if an input is f64; integers and bool are computed in float.
template <size_t N>
Arithmetic float_arithmetic(const Call& call) {
  for (size_t k = 0; k < N; k++)
    if (call.input(k).type == ACL_DOUBLE) return Arithmetic::Double;
  return Arithmetic::Float;
}

template <class C, size_t N, class F, size_t... K>
C apply(F& f, const std::array<C*, N>& values, int64_t i, std::index_sequence<K...>) {
  return f(values[K][i]...);
}

// `f` takes the first N inputs' elements, all float or all double, and returns one.
template <size_t N, class F>
Plan map_floats(const std::shared_ptr<const Call>& call, F f) {
  for (size_t k = 0; k < N; k++) check_broadcast(call->input(k).shape, call->output(0).shape);
  const Arithmetic arithmetic = float_arithmetic<N>(*call);
  Plan plan;
  plan.compute = [call, arithmetic, f] {
    std::array<const Tensor*, N> inputs;
    for (size_t k = 0; k < N; k++) inputs[k] = &call->inputs[k];
    auto run = [&](auto zero) {
      using C = decltype(zero);
      map_blocks<C, C, N>(inputs, call->outputs[0], [&](const auto& values, C* out, int64_t n) {
        for (int64_t i = 0; i < n; i++) out[i] = apply(f, values, i, std::make_index_sequence<N>());
      });
    };
    if (arithmetic == Arithmetic::Double)
      run(double{});
    else
      run(float{});
  };
  return plan;
}

// The same for a function without attributes, written as a struct with a template `of`: an entry of the
// registry.
template <size_t N, class F>
Plan map_function(const std::shared_ptr<const Call>& call) {
  return map_floats<N>(call, [](auto... values) { return F::of(values...); });
}

// A struct with such a function, for map_function: FLOAT_FUNCTION(Square, (C x), x * x).
#define FLOAT_FUNCTION(Name, parameters, expression) \
  struct Name {                                      \
    template <class C>                               \
    static C of parameters {                         \
      return expression;                             \
    }                                                \
  };

}  // namespace cann_sim::ops
