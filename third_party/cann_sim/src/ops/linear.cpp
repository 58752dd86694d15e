// Matrix products and normalisations.
#include <cmath>

#include "ops/axes.h"
#include "ops/map.h"
#include "ops/registry.h"
#include "runtime/costs.h"

namespace cann_sim::ops {
namespace {

// Peak of the cube cores for 16-bit floats, multiply and add counted as two: the public figure for the Ascend
// 910B3 is about 313 TFLOP/s; a quarter of it for 32-bit floats. Not calibrated, and no product reaches it.
constexpr double kCubeFlopsPerNs16 = 313e3;

double product_ns(aclDataType type, double m, double n, double k) {
  return 2 * m * n * k / (element_bytes(type) <= 2 ? kCubeFlopsPerNs16 : kCubeFlopsPerNs16 / 4);
}

template <class C>
std::vector<C> read_all(const Tensor& tensor) {
  std::vector<C> values(static_cast<size_t>(tensor.count()));
  load(tensor.type, tensor.data, 0, tensor.count(), values.data());
  return values;
}

// A matrix of rows x columns, turned over on the way if it is stored the other way round.
template <class C>
std::vector<C> oriented(const C* stored, int64_t rows, int64_t columns, bool transposed) {
  std::vector<C> result(stored, stored + rows * columns);
  if (transposed)
    for (int64_t r = 0; r < rows; r++)
      for (int64_t c = 0; c < columns; c++) result[r * columns + c] = stored[c * rows + r];
  return result;
}

// out (m, n) += a (m, k) * b (k, n). The innermost loop runs along rows, so that it vectorises without
// reordering a sum.
template <class C>
void multiply(const C* a, const C* b, C* out, int64_t m, int64_t n, int64_t k) {
  constexpr int64_t kPanel = 64;  // rows of b that stay in cache while all rows of a pass
  for (int64_t first = 0; first < k; first += kPanel)
    for (int64_t i = 0; i < m; i++)
      for (int64_t l = first; l < std::min(first + kPanel, k); l++) {
        const C factor = a[i * k + l];
        const C* row = b + l * n;
        for (int64_t j = 0; j < n; j++) out[i * n + j] += factor * row[j];
      }
}

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

// Over the one axis in the attribute. Computed in double, rounded once.
template <bool Log>
Plan plan_softmax(const std::shared_ptr<const Call>& call) {
  const Tensor& x = call->input(0);
  const auto axes = call->attributes.integers("axes", {-1});
  if (axes.size() != 1)
    throw InvalidCall("exactly one axis is supported, not " + std::to_string(axes.size()));
  const int64_t axis = normal_axis(axes[0], x.shape.size());
  if (call->output(0).shape != x.shape) throw InvalidCall("the output must have the input's shape");
  Plan plan;
  plan.compute = [call, axis] {
    const Tensor &in = call->inputs[0], &out = call->outputs[0];
    const Lines lines(in.shape, axis);
    std::vector<double> all = read_all<double>(in);
    for (int64_t line = 0; line < lines.count && lines.length > 0; line++) {
      double* first = all.data() + lines.start(line);
      double high = first[0], sum = 0;
      for (int64_t i = 1; i < lines.length; i++) high = std::max(high, first[i * lines.stride]);
      for (int64_t i = 0; i < lines.length; i++) sum += std::exp(first[i * lines.stride] - high);
      for (int64_t i = 0; i < lines.length; i++) {
        double& value = first[i * lines.stride];
        value = Log ? value - high - std::log(sum) : std::exp(value - high) / sum;
      }
    }
    store(out.type, out.data, 0, out.count(), all.data());
  };
  return plan;
}

// (x, gamma, beta) -> (y, mean, variance), normalised over the axes from begin_norm_axis on. Computed in
// double, rounded once.
Plan plan_layer_norm(const std::shared_ptr<const Call>& call) {
  const Tensor& x = call->input(0);
  const int64_t axis = normal_axis(call->attributes.integer("begin_norm_axis", 0), x.shape.size());
  if (call->attributes.integer("begin_params_axis", axis) != axis)
    throw InvalidCall("begin_params_axis must equal begin_norm_axis");
  const double epsilon = call->attributes.number("epsilon", 1e-7);
  int64_t width = 1;
  for (size_t d = static_cast<size_t>(axis); d < x.shape.size(); d++) width *= x.shape[d];
  if (call->input(1).count() != width || call->input(2).count() != width)
    throw InvalidCall("gamma and beta need " + std::to_string(width) + " elements",
                      ACL_ERROR_OP_INPUT_NOT_MATCH);
  const int64_t rows = width ? x.count() / width : 0;
  if (call->output(0).count() != x.count() || call->output(1).count() != rows ||
      call->output(2).count() != rows)
    throw InvalidCall("outputs do not fit the input " + text_of(x.shape), ACL_ERROR_OP_OUTPUT_NOT_MATCH);
  Plan plan;
  plan.compute = [call, epsilon, width, rows] {
    const Tensor &in = call->inputs[0], &y = call->outputs[0], &means = call->outputs[1],
                 &variances = call->outputs[2];
    const std::vector<double> gamma = read_all<double>(call->inputs[1]),
                              beta = read_all<double>(call->inputs[2]);
    std::vector<double> row(static_cast<size_t>(width));
    for (int64_t r = 0; r < rows; r++) {
      load(in.type, in.data, r * width, width, row.data());
      double mean = 0, variance = 0;
      for (double v : row) mean += v;
      mean /= static_cast<double>(width);
      for (double v : row) variance += (v - mean) * (v - mean);
      variance /= static_cast<double>(width);
      const double scale = 1 / std::sqrt(variance + epsilon);
      for (int64_t i = 0; i < width; i++) row[i] = (row[i] - mean) * scale * gamma[i] + beta[i];
      store(y.type, y.data, r * width, width, row.data());
      store(means.type, means.data, r, 1, &mean);
      store(variances.type, variances.data, r, 1, &variance);
    }
  };
  return plan;
}

}  // namespace

void add_linear(Registry& r) {
  r.add("MatMul", plan_matmul);
  r.add("MatMulV2", plan_matmul);
  r.add("BatchMatMul", plan_batch_matmul);
  r.add("BatchMatMulV2", plan_batch_matmul);
  r.add("SoftmaxV2", plan_softmax<false>);
  r.add("LogSoftmaxV2", plan_softmax<true>);
  r.add("LayerNorm", plan_layer_norm);
}

}  // namespace cann_sim::ops
