// Matrix products.
#include "ops/linear.h"

#include "ops/arithmetic.h"
#include "ops/broadcast.h"
#include "ops/map.h"
#include "ops/registry.h"
#include "runtime/costs.h"

namespace cann_sim::ops {
namespace {

struct Sizes {
  int64_t m, n, k;
};

Sizes product_sizes(const Shape& a, const Shape& b, bool turn_a, bool turn_b) {
  if (a.size() < 2 || b.size() < 2)
    throw InvalidCall("matrices are expected, not " + text_of(a) + " and " + text_of(b));
  const int64_t m = a[a.size() - (turn_a ? 1 : 2)], k = a[a.size() - (turn_a ? 2 : 1)];
  const int64_t other = b[b.size() - (turn_b ? 1 : 2)], n = b[b.size() - (turn_b ? 2 : 1)];
  if (k != other)
    throw InvalidCall("inner sizes " + std::to_string(k) + " and " + std::to_string(other) + " differ",
                      ACL_ERROR_OP_INPUT_NOT_MATCH);
  return {m, n, k};
}

// Products of float types are summed in float (double for f64) and rounded once.
Plan product(const std::shared_ptr<const Call>& call, bool turn_a, bool turn_b) {
  const Tensor &a = call->input(0), &b = call->input(1), &out = call->output(0);
  const Sizes size = product_sizes(a.shape, b.shape, turn_a, turn_b);
  const Shape batch_a(a.shape.begin(), a.shape.end() - 2), batch_b(b.shape.begin(), b.shape.end() - 2);
  Shape expected = broadcast_shape({&batch_a, &batch_b});
  const Shape batch = expected;
  expected.insert(expected.end(), {size.m, size.n});
  if (out.shape != expected)
    throw InvalidCall("output shape " + text_of(out.shape) + ", but " + text_of(expected) + " is expected",
                      ACL_ERROR_OP_OUTPUT_NOT_MATCH);
  const bool biased = call->inputs.size() > 2;
  if (biased) check_broadcast(call->input(2).shape, expected);
  Plan plan;
  plan.compute_ns = product_ns(a.type, double(count_of(batch) * size.m), double(size.n), double(size.k));
  plan.compute = [call, size, batch, batch_a, batch_b, turn_a, turn_b, biased] {
    const Tensor& to = call->outputs[0];
    with_arithmetic(common_arithmetic<2>({&call->inputs[0], &call->inputs[1]}), [&](auto zero) {
      using C = decltype(zero);
      const std::vector<C> left = read_all<C>(call->inputs[0]), right = read_all<C>(call->inputs[1]);
      std::vector<C> result(static_cast<size_t>(to.count()), C(0));
      if (biased) {
        const Tensor& bias = call->inputs[2];
        const Nest<2> nest(to.shape, {broadcast_strides(bias.shape, to.shape), contiguous_strides(to.shape)});
        nest.each([&](const auto& at, int64_t n) {
          for (int64_t i = 0; i < n; i++)
            load(bias.type, bias.data, at[0] + i * nest.inner_stride(0), 1, &result[at[1] + i]);
        });
      }
      const Nest<3> nest(batch, {broadcast_strides(batch_a, batch), broadcast_strides(batch_b, batch),
                                 contiguous_strides(batch)});
      nest.each([&](const auto& at, int64_t n) {
        for (int64_t i = 0; i < n; i++) {
          const int64_t ia = at[0] + i * nest.inner_stride(0), ib = at[1] + i * nest.inner_stride(1);
          const int64_t io = at[2] + i * nest.inner_stride(2);
          const auto x = oriented(left.data() + ia * size.m * size.k, size.m, size.k, turn_a);
          const auto y = oriented(right.data() + ib * size.k * size.n, size.k, size.n, turn_b);
          multiply(x.data(), y.data(), result.data() + io * size.m * size.n, size.m, size.n, size.k);
        }
      });
      store(to.type, to.data, 0, to.count(), result.data());
    });
  };
  return plan;
}

Plan plan_matmul(const std::shared_ptr<const Call>& call) {
  return product(call, call->attributes.flag("transpose_x1", false),
                 call->attributes.flag("transpose_x2", false));
}
Plan plan_batch_matmul(const std::shared_ptr<const Call>& call) {
  return product(call, call->attributes.flag("adj_x1", false), call->attributes.flag("adj_x2", false));
}

// One number: the sum of products of two vectors.
Plan plan_dot(const std::shared_ptr<const Call>& call) {
  if (call->input(0).shape != call->input(1).shape || call->output(0).count() != 1)
    throw InvalidCall("vectors of one length are expected, not " + text_of(call->input(0).shape) + " and " +
                      text_of(call->input(1).shape));
  Plan plan;
  plan.compute = [call] {
    with_arithmetic(arithmetic_of(call->inputs[0].type), [&](auto zero) {
      using C = decltype(zero);
      const auto a = read_all<C>(call->inputs[0]), b = read_all<C>(call->inputs[1]);
      std::conditional_t<is_integer<C>, int64_t, double> sum = 0;
      for (size_t i = 0; i < a.size(); i++) sum += decltype(sum)(a[i]) * decltype(sum)(b[i]);
      store(call->outputs[0].type, call->outputs[0].data, 0, 1, &sum);
    });
  };
  return plan;
}

// The sum of a matrix's diagonal.
Plan plan_trace(const std::shared_ptr<const Call>& call) {
  const Shape& shape = call->input(0).shape;
  if (shape.size() != 2) throw InvalidCall("a matrix is expected, not " + text_of(shape));
  Plan plan;
  plan.compute = [call] {
    const Shape& sizes = call->inputs[0].shape;
    with_arithmetic(arithmetic_of(call->inputs[0].type), [&](auto zero) {
      using C = decltype(zero);
      const auto all = read_all<C>(call->inputs[0]);
      std::conditional_t<is_integer<C>, int64_t, double> sum = 0;
      for (int64_t i = 0; i < std::min(sizes[0], sizes[1]); i++) sum += all[i * (sizes[1] + 1)];
      store(call->outputs[0].type, call->outputs[0].data, 0, 1, &sum);
    });
  };
  return plan;
}

}  // namespace

void add_linear(Registry& r) {
  r.add("MatMul", plan_matmul);
  r.add("MatMulV2", plan_matmul);
  r.add("BatchMatMul", plan_batch_matmul);
  r.add("BatchMatMulV2", plan_batch_matmul);
  r.add("Dot", plan_dot);
  r.add("Trace", plan_trace);
}

}  // namespace cann_sim::ops
