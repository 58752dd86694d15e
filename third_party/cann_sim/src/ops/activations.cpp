// Activation functions and their derivatives. `x` is the function's input, `y` its result, `g` the gradient
// of the result. Computed in float (double for f64) and rounded once.
#include <cmath>

#include "ops/axes.h"
#include "ops/map_plan.h"

namespace cann_sim::ops {
namespace {

template <class C>
C sigmoid(C x) {
  return C(1) / (C(1) + std::exp(-x));
}
// log(1 + exp(x)) without overflow.
template <class C>
C softplus(C x) {
  return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x));
}
template <class C>
C normal_cdf(C x) {
  return C(0.5) * std::erfc(-x * C(M_SQRT1_2));
}
template <class C>
C normal_density(C x) {
  return C(0.5 * M_2_SQRTPI * M_SQRT1_2) * std::exp(C(-0.5) * x * x);
}
template <class C>
C clamp(C x, C low, C high) {  // NaN stays
  const C raised = x < low ? low : x;
  return raised > high ? high : raised;
}
// 0, 1 and x / 6 + 1 / 2 between.
template <class C>
C hard_sigmoid(C x) {
  return clamp(x / C(6) + C(0.5), C(0), C(1));
}

FLOAT_FUNCTION(Relu, (C x), x < 0 ? C(0) : x)  // NaN stays
FLOAT_FUNCTION(ReluGrad, (C g, C y), y > 0 ? g : C(0))
FLOAT_FUNCTION(Sigmoid, (C x), sigmoid(x))
FLOAT_FUNCTION(SigmoidGrad, (C y, C g), g * y * (C(1) - y))
FLOAT_FUNCTION(Tanh, (C x), std::tanh(x))
FLOAT_FUNCTION(TanhGrad, (C y, C g), g*(C(1) - y * y))
// torch_npu sends both of torch's forms as this operator; this is its default one, by erf.
FLOAT_FUNCTION(Gelu, (C x), x* normal_cdf(x))
FLOAT_FUNCTION(GeluGrad, (C g, C x), g*(normal_cdf(x) + x * normal_density(x)))
FLOAT_FUNCTION(SiluGrad, (C g, C x), g* sigmoid(x) * (C(1) + x * (C(1) - sigmoid(x))))
FLOAT_FUNCTION(HardSwish, (C x), x* hard_sigmoid(x))
FLOAT_FUNCTION(HardSwishGrad, (C g, C x), x <= -3 ? C(0) : x >= 3 ? g : g * (x / C(3) + C(0.5)))
FLOAT_FUNCTION(HardSigmoid, (C x), hard_sigmoid(x))
FLOAT_FUNCTION(HardSigmoidGrad, (C g, C x), x > -3 && x < 3 ? g / C(6) : C(0))
FLOAT_FUNCTION(Mish, (C x), x* std::tanh(softplus(x)))
FLOAT_FUNCTION(LogSigmoid, (C x), -softplus(-x))
FLOAT_FUNCTION(LogSigmoidGrad, (C g, C x), g* sigmoid(-x))
FLOAT_FUNCTION(PRelu, (C x, C slope), x > 0 ? x : slope * x)

struct MishGrad {
  template <class C>
  static C of(C g, C x) {
    const C t = std::tanh(softplus(x));
    return g * (t + x * sigmoid(x) * (C(1) - t * t));
  }
};

double number(const std::shared_ptr<const Call>& call, const char* name, double otherwise) {
  return call->attributes.number(name, otherwise);
}

Plan plan_swish(const std::shared_ptr<const Call>& call) {
  const double scale = number(call, "scale", 1);
  return map_floats<1>(call, [scale](auto x) { return x * sigmoid(static_cast<decltype(x)>(scale) * x); });
}

Plan plan_leaky_relu(const std::shared_ptr<const Call>& call) {
  const double slope = number(call, "negative_slope", 0);
  return map_floats<1>(call, [slope](auto x) { return x < 0 ? static_cast<decltype(x)>(slope) * x : x; });
}
Plan plan_leaky_relu_grad(const std::shared_ptr<const Call>& call) {
  const double slope = number(call, "negative_slope", 0);
  return map_floats<2>(call,
                       [slope](auto g, auto x) { return x > 0 ? g : static_cast<decltype(g)>(slope) * g; });
}

// log(1 + exp(beta x)) / beta, and x itself where beta x is above the threshold.
Plan plan_softplus(const std::shared_ptr<const Call>& call) {
  const double beta = number(call, "beta", 1), threshold = number(call, "threshold", 20);
  return map_floats<1>(call, [beta, threshold](auto x) {
    using C = decltype(x);
    return x * C(beta) > C(threshold) ? x : softplus(x * C(beta)) / C(beta);
  });
}
Plan plan_softplus_grad(const std::shared_ptr<const Call>& call) {
  const double beta = number(call, "beta", 1), threshold = number(call, "threshold", 20);
  return map_floats<2>(call, [beta, threshold](auto g, auto x) {
    using C = decltype(x);
    return x * C(beta) > C(threshold) ? g : g * sigmoid(x * C(beta));
  });
}

// scale * x, and scale * alpha * (exp(input_scale * x) - 1) for negative x.
Plan plan_elu(const std::shared_ptr<const Call>& call) {
  const double alpha = number(call, "alpha", 1), scale = number(call, "scale", 1),
               inner = number(call, "input_scale", 1);
  return map_floats<1>(call, [alpha, scale, inner](auto x) {
    using C = decltype(x);
    return C(scale) * (x > 0 ? x : C(alpha) * std::expm1(C(inner) * x));
  });
}
Plan plan_celu(const std::shared_ptr<const Call>& call) {
  const double alpha = number(call, "alpha", 1);
  return map_floats<1>(call, [alpha](auto x) {
    using C = decltype(x);
    return x > 0 ? x : C(alpha) * std::expm1(x / C(alpha));
  });
}
// From the result (is_result) or from the input.
Plan plan_elu_grad(const std::shared_ptr<const Call>& call) {
  const double alpha = number(call, "alpha", 1), scale = number(call, "scale", 1),
               inner = number(call, "input_scale", 1);
  const bool of_result = call->attributes.flag("is_result", false);
  return map_floats<2>(call, [alpha, scale, inner, of_result](auto g, auto v) {
    using C = decltype(g);
    if (v > 0) return g * C(scale);
    return of_result ? g * C(inner) * (v + C(scale * alpha))
                     : g * C(inner * alpha * scale) * std::exp(C(inner) * v);
  });
}

Plan plan_hardtanh_grad(const std::shared_ptr<const Call>& call) {
  const double low = number(call, "min_val", -1), high = number(call, "max_val", 1);
  return map_floats<2>(call, [low, high](auto x, auto g) {
    using C = decltype(g);
    return x > C(low) && x < C(high) ? g : C(0);
  });
}

Plan plan_threshold(const std::shared_ptr<const Call>& call) {
  const double threshold = number(call, "threshold", 0), value = number(call, "value", 0);
  return map_floats<1>(call, [threshold, value](auto x) {
    using C = decltype(x);
    return x <= C(threshold) ? C(value) : x;
  });
}

Plan plan_hard_shrink(const std::shared_ptr<const Call>& call) {
  const double width = number(call, "lambd", 0.5);
  return map_floats<1>(call, [width](auto x) {
    using C = decltype(x);
    return x >= C(-width) && x <= C(width) ? C(0) : x;
  });
}
Plan plan_soft_shrink(const std::shared_ptr<const Call>& call) {
  const double width = number(call, "lambd", 0.5);
  return map_floats<1>(call, [width](auto x) {
    using C = decltype(x);
    return x > C(width) ? x - C(width) : x < C(-width) ? x + C(width) : x * C(0);
  });
}

// Halves of lines along the axis `dim`: n elements of the first half from `first` on, n of the second half
// right behind them. Calls each(offset in a half-sized array, offset of the first, n).
template <class F>
void each_half(const Call& call, const Shape& shape, F each) {
  const Lines lines(shape, normal_axis(call.attributes.integer("dim", -1), shape.size()));
  const int64_t n = lines.length / 2 * lines.stride;
  for (int64_t at = 0; n > 0 && at < lines.count * lines.length / 2; at += n) each(at, 2 * at, n);
}

void check_halves(const Call& call, const Tensor& whole, const Tensor& half) {
  const Lines lines(whole.shape, normal_axis(call.attributes.integer("dim", -1), whole.shape.size()));
  if (lines.length % 2 || half.count() * 2 != whole.count())
    throw InvalidCall("an even dimension is expected, not " + std::to_string(lines.length));
}

// The first half along an axis times the sigmoid of the second.
Plan plan_glu(const std::shared_ptr<const Call>& call) {
  check_halves(*call, call->input(0), call->output(0));
  Plan plan;
  plan.compute = [call] {
    const auto x = read_all<double>(call->inputs[0]);
    std::vector<double> y(x.size() / 2);
    each_half(*call, call->inputs[0].shape, [&](int64_t at, int64_t first, int64_t n) {
      for (int64_t i = 0; i < n; i++) y[at + i] = x[first + i] * sigmoid(x[first + n + i]);
    });
    write_all(call->outputs[0], y);
  };
  return plan;
}
Plan plan_glu_grad(const std::shared_ptr<const Call>& call) {  // (g, x)
  check_halves(*call, call->input(1), call->input(0));
  check_halves(*call, call->output(0), call->input(0));
  Plan plan;
  plan.compute = [call] {
    const auto g = read_all<double>(call->inputs[0]), x = read_all<double>(call->inputs[1]);
    std::vector<double> dx(x.size());
    each_half(*call, call->inputs[1].shape, [&](int64_t at, int64_t first, int64_t n) {
      for (int64_t i = 0; i < n; i++) {
        const double gate = sigmoid(x[first + n + i]);
        dx[first + i] = g[at + i] * gate;
        dx[first + n + i] = g[at + i] * x[first + i] * gate * (1 - gate);
      }
    });
    write_all(call->outputs[0], dx);
  };
  return plan;
}

}  // namespace

void add_activations(Registry& r) {
  r.add("Relu", map_function<1, Relu>);
  r.add("ReluGrad", map_function<2, ReluGrad>);
  r.add("Sigmoid", map_function<1, Sigmoid>);
  r.add("SigmoidGrad", map_function<2, SigmoidGrad>);
  r.add("Tanh", map_function<1, Tanh>);
  r.add("TanhGrad", map_function<2, TanhGrad>);
  r.add("Gelu", map_function<1, Gelu>);
  r.add("GeluGrad", map_function<2, GeluGrad>);
  r.add("Swish", plan_swish);
  r.add("SiluGrad", map_function<2, SiluGrad>);
  r.add("HardSwish", map_function<1, HardSwish>);
  r.add("HardSwishGrad", map_function<2, HardSwishGrad>);
  r.add("HardSigmoid", map_function<1, HardSigmoid>);
  r.add("HardSigmoidGrad", map_function<2, HardSigmoidGrad>);
  r.add("HardtanhGrad", plan_hardtanh_grad);
  r.add("Mish", map_function<1, Mish>);
  r.add("MishGrad", map_function<2, MishGrad>);
  r.add("LogSigmoid", map_function<1, LogSigmoid>);
  r.add("LogSigmoidGrad", map_function<2, LogSigmoidGrad>);
  r.add("PRelu", map_function<2, PRelu>);
  r.add("LeakyRelu", plan_leaky_relu);
  r.add("LeakyReluGrad", plan_leaky_relu_grad);
  r.add("SoftplusV2", plan_softplus);
  r.add("SoftplusV2Grad", plan_softplus_grad);
  r.add("Elu", plan_elu);
  r.add("EluGradV2", plan_elu_grad);
  r.add("CeluV2", plan_celu);
  r.add("ThresholdV2D", plan_threshold);
  r.add("HardShrink", plan_hard_shrink);
  r.add("SoftShrink", plan_soft_shrink);
  r.add("GLU", plan_glu);
  r.add("GLUGrad", plan_glu_grad);
}

}  // namespace cann_sim::ops
