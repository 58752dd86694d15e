// Reductions over any set of axes, arg-reductions and sums along an axis.
//
// Sums, means and products of floats are accumulated in double and rounded once: the result does not depend
// on an order of summation that no simulator could share with the device.
#include <cmath>
#include <limits>

#include "ops/axes.h"
#include "ops/map.h"
#include "ops/registry.h"

namespace cann_sim::ops {
namespace {

// A: the type accumulated in, for elements in arithmetic C.
template <class C>
using Wide = std::conditional_t<std::is_same_v<C, int64_t>, int64_t, double>;

struct Sum {
  template <class C>
  using Accumulator = Wide<C>;
  template <class A>
  static A start() {
    return 0;
  }
  template <class A>
  static A of(A a, A b) {
    if constexpr (std::is_same_v<A, int64_t>)
      return static_cast<int64_t>(uint64_t(a) + uint64_t(b));
    else
      return a + b;
  }
};
struct Product {
  template <class C>
  using Accumulator = Wide<C>;
  template <class A>
  static A start() {
    return 1;
  }
  template <class A>
  static A of(A a, A b) {
    if constexpr (std::is_same_v<A, int64_t>)
      return static_cast<int64_t>(uint64_t(a) * uint64_t(b));
    else
      return a * b;
  }
};
struct Max {  // NaN if any element is
  template <class C>
  using Accumulator = C;
  template <class A>
  static A start() {
    return std::is_same_v<A, int64_t> ? std::numeric_limits<A>::min() : -std::numeric_limits<A>::infinity();
  }
  template <class A>
  static A of(A a, A b) {
    return b > a || b != b ? b : a;
  }
};
struct Min {
  template <class C>
  using Accumulator = C;
  template <class A>
  static A start() {
    return std::is_same_v<A, int64_t> ? std::numeric_limits<A>::max() : std::numeric_limits<A>::infinity();
  }
  template <class A>
  static A of(A a, A b) {
    return b < a || b != b ? b : a;
  }
};
struct All {
  template <class C>
  using Accumulator = C;
  template <class A>
  static A start() {
    return 1;
  }
  template <class A>
  static A of(A a, A b) {
    return a != 0 && b != 0;
  }
};
struct Any {
  template <class C>
  using Accumulator = C;
  template <class A>
  static A start() {
    return 0;
  }
  template <class A>
  static A of(A a, A b) {
    return a != 0 || b != 0;
  }
};

// Folds n elements into one; eight independent accumulators, so that additions need not wait for one another.
template <class F, class A, class C>
A fold_run(const C* values, int64_t n) {
  A part[8];
  for (A& p : part) p = F::template start<A>();
  int64_t i = 0;
  for (; i + 8 <= n; i += 8)
    for (int k = 0; k < 8; k++) part[k] = F::of(part[k], static_cast<A>(values[i + k]));
  for (; i < n; i++) part[0] = F::of(part[0], static_cast<A>(values[i]));
  for (int k = 1; k < 8; k++) part[0] = F::of(part[0], part[k]);
  return part[0];
}

// One accumulator per kept element. `mapped` is applied to every element first.
template <class F, class C, class Map>
std::vector<typename F::template Accumulator<C>> fold(const Tensor& input, const std::vector<bool>& reduced,
                                                      Map mapped) {
  using A = typename F::template Accumulator<C>;
  Shape kept = input.shape;
  for (size_t d = 0; d < kept.size(); d++)
    if (reduced[d]) kept[d] = 1;
  std::vector<A> result(static_cast<size_t>(count_of(kept)), F::template start<A>());
  const Nest<2> nest(input.shape, {contiguous_strides(input.shape), broadcast_strides(kept, input.shape)});
  C values[kBlock];
  nest.each([&](const auto& offsets, int64_t length) {
    for (int64_t at = 0; at < length; at += kBlock) {
      const int64_t n = std::min(kBlock, length - at);
      load(input.type, input.data, offsets[0] + at, n, values);
      mapped(values, offsets[0] + at, n);
      if (nest.inner_stride(1) == 0) {
        A& target = result[offsets[1]];
        target = F::of(target, fold_run<F, A>(values, n));
      } else {
        A* target = &result[offsets[1] + at];
        for (int64_t i = 0; i < n; i++) target[i] = F::of(target[i], static_cast<A>(values[i]));
      }
    }
  });
  return result;
}

int64_t reduced_count(const Shape& shape, const std::vector<bool>& reduced) {
  int64_t count = 1;
  for (size_t d = 0; d < shape.size(); d++)
    if (reduced[d]) count *= shape[d];
  return count;
}

void check_kept(const Call& call, const std::vector<bool>& reduced) {
  const Tensor& input = call.input(0);
  int64_t kept = 1;
  for (size_t d = 0; d < input.shape.size(); d++)
    if (!reduced[d]) kept *= input.shape[d];
  if (call.output(0).count() != kept)
    throw InvalidCall("output shape " + text_of(call.output(0).shape) + " does not fit a reduction of " +
                          text_of(input.shape),
                      ACL_ERROR_OP_OUTPUT_NOT_MATCH);
}

template <class F, bool Mean = false>
Plan reduce_over(const std::shared_ptr<const Call>& call, const std::vector<int64_t>& axes) {
  const Tensor& input = call->input(0);
  const std::vector<bool> reduced = axis_mask(axes, input.shape.size());
  check_kept(*call, reduced);
  Plan plan;
  // An empty reduction is not made of zeros, and a product or "all" of zeros is zero as well.
  plan.keeps_zero = reduced_count(input.shape, reduced) > 0;
  plan.compute = [call, reduced] {
    const Tensor &in = call->inputs[0], &out = call->outputs[0];
    with_arithmetic(arithmetic_of(in.type), [&](auto zero) {
      using C = decltype(zero);
      auto result = fold<F, C>(in, reduced, [](C*, int64_t, int64_t) {});
      if constexpr (Mean) {
        const int64_t n = reduced_count(in.shape, reduced);
        if constexpr (std::is_same_v<C, int64_t>) {
          for (auto& r : result) r = n ? r / n : 0;
        } else {
          for (auto& r : result) r /= static_cast<double>(n);
        }
      }
      store(out.type, out.data, 0, static_cast<int64_t>(result.size()), result.data());
    });
  };
  return plan;
}

// Axes come as the constant input 1, or as an attribute (operators whose name ends in D).
template <class F, bool Mean = false>
Plan reduce(const std::shared_ptr<const Call>& call) {
  return reduce_over<F, Mean>(call, integers_of(call->input(1)));
}
template <class F, bool Mean = false>
Plan reduce_static(const std::shared_ptr<const Call>& call) {
  return reduce_over<F, Mean>(call, call->attributes.integers("axes", {}));
}

// sum((x - mean)^2) / (n - correction), or its root. The mean comes broadcast to the shape of x.
Plan variance(const std::shared_ptr<const Call>& call, bool root) {
  const Tensor& input = call->input(0);
  if (call->input(1).shape != input.shape)
    throw InvalidCall("the mean must have the input's shape", ACL_ERROR_OP_INPUT_NOT_MATCH);
  const std::vector<bool> reduced = axis_mask(call->attributes.integers("dim", {}), input.shape.size());
  check_kept(*call, reduced);
  const int64_t correction =
      call->attributes.integer("correction", call->attributes.flag("unbiased", true) ? 1 : 0);
  Plan plan;
  plan.compute = [call, reduced, correction, root] {
    const Tensor &in = call->inputs[0], &mean = call->inputs[1], &out = call->outputs[0];
    auto result = fold<Sum, double>(in, reduced, [&](double* values, int64_t first, int64_t n) {
      double means[kBlock];
      load(mean.type, mean.data, first, n, means);
      for (int64_t i = 0; i < n; i++) values[i] = (values[i] - means[i]) * (values[i] - means[i]);
    });
    const double divisor =
        std::max<double>(0, static_cast<double>(reduced_count(in.shape, reduced) - correction));
    for (double& r : result) r = root ? std::sqrt(r / divisor) : r / divisor;
    store(out.type, out.data, 0, static_cast<int64_t>(result.size()), result.data());
  };
  return plan;
}
Plan plan_std_with_mean(const std::shared_ptr<const Call>& call) { return variance(call, true); }
Plan plan_std_update(const std::shared_ptr<const Call>& call) {
  return variance(call, call->attributes.flag("if_std", false));
}

// A p-norm in two steps: sum of |x|^p, then the root. torch_npu sends the largest 32-bit integer for
// infinity: the largest |x|.
bool is_infinite(double p) { return p >= std::numeric_limits<int32_t>::max(); }

Plan plan_norm_reduce(const std::shared_ptr<const Call>& call) {
  const double p = call->attributes.number("p", 2);
  if (!(p > 0)) throw InvalidCall("only norms with p > 0 are supported, not p = " + std::to_string(p));
  const std::vector<bool> reduced =
      axis_mask(call->attributes.integers("axes", {}), call->input(0).shape.size());
  check_kept(*call, reduced);
  Plan plan;
  plan.compute = [call, reduced, p] {
    const Tensor &in = call->inputs[0], &out = call->outputs[0];
    auto power = [p](double* values, int64_t, int64_t n) {
      for (int64_t i = 0; i < n; i++)
        values[i] = p == 2           ? values[i] * values[i]
                    : is_infinite(p) ? std::fabs(values[i])
                                     : std::pow(std::fabs(values[i]), p);
    };
    auto result =
        is_infinite(p) ? fold<Max, double>(in, reduced, power) : fold<Sum, double>(in, reduced, power);
    store(out.type, out.data, 0, static_cast<int64_t>(result.size()), result.data());
  };
  return plan;
}
Plan plan_norm_update(const std::shared_ptr<const Call>& call) {
  const double p = call->attributes.number("p", 2), floor = call->attributes.number("epsilon", 0);
  check_broadcast(call->input(0).shape, call->output(0).shape);
  Plan plan;
  plan.compute = [call, p, floor] {
    map_blocks<double, double, 1>({&call->inputs[0]}, call->outputs[0],
                                  [&](const auto& v, double* out, int64_t n) {
                                    for (int64_t i = 0; i < n; i++)
                                      out[i] = std::max(p == 2           ? std::sqrt(v[0][i])
                                                        : is_infinite(p) ? v[0][i]
                                                                         : std::pow(v[0][i], 1 / p),
                                                        floor);
                                  });
  };
  return plan;
}

// Index of the first largest (or smallest) element along an axis; the first NaN counts as both.
template <bool Largest>
void arg_extreme(const Tensor& input, int64_t axis, const Tensor& indices, const Tensor* values) {
  const Lines lines(input.shape, axis);
  with_arithmetic(arithmetic_of(input.type), [&](auto zero) {
    using C = decltype(zero);
    std::vector<C> all(static_cast<size_t>(input.count()));
    load(input.type, input.data, 0, input.count(), all.data());
    for (int64_t line = 0; line < lines.count; line++) {
      const C* first = all.data() + lines.start(line);
      C best = first[0];
      int64_t place = 0;
      for (int64_t i = 1; i < lines.length && best == best; i++) {
        const C value = first[i * lines.stride];
        if ((Largest ? value > best : value < best) || value != value) {
          best = value;
          place = i;
        }
      }
      store(indices.type, indices.data, line, 1, &place);
      if (values) store(values->type, values->data, line, 1, &best);
    }
  });
}

int64_t checked_axis(const Call& call, int64_t axis) {
  const Shape& shape = call.input(0).shape;
  axis = normal_axis(axis, shape.size());
  const Lines lines(shape, axis);
  if (lines.length == 0) throw InvalidCall("the reduced dimension is empty");
  for (const Tensor& out : call.outputs)
    if (out.count() != lines.count)
      throw InvalidCall("output shape " + text_of(out.shape) + " does not fit",
                        ACL_ERROR_OP_OUTPUT_NOT_MATCH);
  return axis;
}

template <bool Largest>
Plan arg_with_value(const std::shared_ptr<const Call>& call) {
  const int64_t axis = checked_axis(*call, call->attributes.integer("dimension", 0));
  call->output(1);
  Plan plan;
  plan.compute = [call, axis] {
    arg_extreme<Largest>(call->inputs[0], axis, call->outputs[0], &call->outputs[1]);
  };
  return plan;
}

// The axis is the constant input 1.
template <bool Largest>
Plan arg_only(const std::shared_ptr<const Call>& call) {
  const int64_t axis = checked_axis(*call, integer_of(call->input(1)));
  call->output(0);
  Plan plan;
  plan.compute = [call, axis] { arg_extreme<Largest>(call->inputs[0], axis, call->outputs[0], nullptr); };
  return plan;
}

// Running sums or products along the axis given as the constant input 1.
template <class F>
Plan running(const std::shared_ptr<const Call>& call) {
  if (call->attributes.flag("exclusive", false) || call->attributes.flag("reverse", false))
    throw InvalidCall("exclusive and reverse are not supported");
  const int64_t axis = normal_axis(integer_of(call->input(1)), call->input(0).shape.size());
  if (call->output(0).shape != call->input(0).shape)
    throw InvalidCall("the output must have the input's shape", ACL_ERROR_OP_OUTPUT_NOT_MATCH);
  Plan plan;
  plan.keeps_zero = true;
  plan.compute = [call, axis] {
    const Tensor &in = call->inputs[0], &out = call->outputs[0];
    const Lines lines(in.shape, axis);
    with_arithmetic(arithmetic_of(in.type), [&](auto zero) {
      using A = Wide<decltype(zero)>;
      std::vector<A> all(static_cast<size_t>(in.count()));
      load(in.type, in.data, 0, in.count(), all.data());
      for (int64_t line = 0; line < lines.count; line++) {
        A* first = all.data() + lines.start(line);
        for (int64_t i = 1; i < lines.length; i++)
          first[i * lines.stride] = F::of(first[(i - 1) * lines.stride], first[i * lines.stride]);
      }
      store(out.type, out.data, 0, out.count(), all.data());
    });
  };
  return plan;
}

}  // namespace

void add_reduce(Registry& r) {
  r.add("ReduceSum", reduce<Sum>);
  r.add("ReduceMean", reduce<Sum, true>);
  r.add("ReduceProd", reduce<Product>);
  r.add("ReduceMax", reduce<Max>);
  r.add("ReduceMin", reduce<Min>);
  r.add("ReduceAll", reduce<All>);
  r.add("ReduceAny", reduce<Any>);
  r.add("ReduceSumD", reduce_static<Sum>);
  r.add("ReduceMeanD", reduce_static<Sum, true>);
  r.add("ReduceMaxD", reduce_static<Max>);
  r.add("ReduceMinD", reduce_static<Min>);
  r.add("ReduceStdWithMean", plan_std_with_mean);
  r.add("ReduceStdV2Update", plan_std_update);
  r.add("LpNormReduceV2", plan_norm_reduce);
  r.add("LpNormUpdateV2", plan_norm_update);
  r.add("ArgMaxWithValue", arg_with_value<true>);
  r.add("ArgMinWithValue", arg_with_value<false>);
  r.add("ArgMaxV2", arg_only<true>);
  r.add("ArgMin", arg_only<false>);
  r.add("Cumsum", running<Sum>);
  r.add("Cumprod", running<Product>);
}

}  // namespace cann_sim::ops
