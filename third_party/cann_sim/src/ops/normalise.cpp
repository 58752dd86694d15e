// Normalisations of rows and their gradients. Computed in double and rounded once.
#include <algorithm>
#include <cmath>

#include "ops/axes.h"
#include "ops/map.h"
#include "ops/registry.h"

namespace cann_sim::ops {
namespace {

// Calls one(line) for each line of `shape` along `axis`, where line[i] is an index into a contiguous array.
template <class F>
void each_line(const Shape& shape, int64_t axis, F one) {
  const Lines lines(shape, axis);
  std::vector<int64_t> places(static_cast<size_t>(lines.length));
  for (int64_t line = 0; line < lines.count && lines.length > 0; line++) {
    for (int64_t i = 0; i < lines.length; i++) places[i] = lines.start(line) + i * lines.stride;
    one(places);
  }
}

// The largest element of a line, and log(sum(exp(x - largest))).
struct Exponents {
  double high, log_sum;

  Exponents(const std::vector<double>& all, const std::vector<int64_t>& line) : high(all[line[0]]) {
    for (int64_t at : line) high = std::max(high, all[at]);
    double sum = 0;
    for (int64_t at : line) sum += std::exp(all[at] - high);
    log_sum = std::log(sum);
  }
};

int64_t only_axis(const Call& call, const char* attribute) {
  const auto axes = call.attributes.integers(attribute, {-1});
  if (axes.size() != 1)
    throw InvalidCall("exactly one axis is supported, not " + std::to_string(axes.size()));
  return normal_axis(axes[0], call.input(0).shape.size());
}

void check_output_like(const Call& call, const Tensor& input) {
  if (call.output(0).shape != input.shape)
    throw InvalidCall("the output must have the input's shape", ACL_ERROR_OP_OUTPUT_NOT_MATCH);
}

template <bool Log>
Plan plan_softmax(const std::shared_ptr<const Call>& call) {
  const int64_t axis = only_axis(*call, "axes");
  check_output_like(*call, call->input(0));
  Plan plan;
  plan.compute = [call, axis] {
    std::vector<double> all = read_all<double>(call->inputs[0]);
    each_line(call->inputs[0].shape, axis, [&](const std::vector<int64_t>& line) {
      const Exponents e(all, line);
      for (int64_t at : line) {
        const double log = all[at] - e.high - e.log_sum;
        all[at] = Log ? log : std::exp(log);
      }
    });
    write_all(call->outputs[0], all);
  };
  return plan;
}

// y and g are the result and its gradient: (y, g) for a softmax, (g, y) for its logarithm.
template <bool Log>
Plan plan_softmax_grad(const std::shared_ptr<const Call>& call) {
  const int64_t axis = only_axis(*call, Log ? "axis" : "axes");
  check_output_like(*call, call->input(0));
  if (call->input(1).shape != call->input(0).shape)
    throw InvalidCall("inputs of different shapes", ACL_ERROR_OP_INPUT_NOT_MATCH);
  Plan plan;
  plan.compute = [call, axis] {
    std::vector<double> y = read_all<double>(call->inputs[Log ? 1 : 0]),
                        g = read_all<double>(call->inputs[Log ? 0 : 1]);
    each_line(call->inputs[0].shape, axis, [&](const std::vector<int64_t>& line) {
      double sum = 0;
      for (int64_t at : line) sum += Log ? g[at] : g[at] * y[at];
      for (int64_t at : line) g[at] = Log ? g[at] - std::exp(y[at]) * sum : y[at] * (g[at] - sum);
    });
    write_all(call->outputs[0], g);
  };
  return plan;
}

// (x, axes): log(sum(exp(x))) over any axes.
Plan plan_log_sum_exp(const std::shared_ptr<const Call>& call) {
  const Shape& shape = call->input(0).shape;
  const std::vector<bool> reduced = axis_mask(integers_of(call->input(1)), shape.size());
  Shape kept = shape;
  for (size_t d = 0; d < shape.size(); d++)
    if (reduced[d]) kept[d] = 1;
  if (count_of(kept) != call->output(0).count())
    throw InvalidCall("output shape " + text_of(call->output(0).shape) + " does not fit",
                      ACL_ERROR_OP_OUTPUT_NOT_MATCH);
  Plan plan;
  plan.compute = [call, kept] {
    const Tensor& x = call->inputs[0];
    const std::vector<double> all = read_all<double>(x);
    std::vector<double> high(static_cast<size_t>(count_of(kept)), -INFINITY), sum(high.size(), 0);
    const Nest<2> nest(x.shape, {contiguous_strides(x.shape), broadcast_strides(kept, x.shape)});
    auto each = [&](auto f) {
      nest.each([&](const auto& at, int64_t n) {
        for (int64_t i = 0; i < n; i++) f(all[at[0] + i], at[1] + i * nest.inner_stride(1));
      });
    };
    each([&](double value, int64_t to) { high[to] = std::max(high[to], value); });
    each([&](double value, int64_t to) { sum[to] += std::isinf(high[to]) ? 0 : std::exp(value - high[to]); });
    for (size_t k = 0; k < sum.size(); k++)
      sum[k] = std::isinf(high[k]) ? high[k] : high[k] + std::log(sum[k]);
    write_all(call->outputs[0], sum);
  };
  return plan;
}

struct Moments {
  double mean = 0, variance = 0;

  explicit Moments(const std::vector<double>& row) {
    for (double v : row) mean += v;
    mean /= static_cast<double>(row.size());
    for (double v : row) variance += (v - mean) * (v - mean);
    variance /= static_cast<double>(row.size());
  }
};

// `rows` rows of `width` elements that are normalised each.
struct Rows {
  int64_t rows, width;
};

Rows rows_from_axis(const Shape& shape, int64_t axis) {
  int64_t width = 1, rows = 1;
  for (size_t d = 0; d < shape.size(); d++) (static_cast<int64_t>(d) < axis ? rows : width) *= shape[d];
  return {rows, width};
}

// (x, gamma, beta) -> (y, mean, variance), normalised over the axes from begin_norm_axis on; gamma and beta
// reach over the axes from begin_params_axis on and repeat before.
Plan plan_layer_norm(const std::shared_ptr<const Call>& call) {
  const Tensor& x = call->input(0);
  const int64_t axis = normal_axis(call->attributes.integer("begin_norm_axis", 0), x.shape.size());
  const double epsilon = call->attributes.number("epsilon", 1e-7);
  const auto [rows, width] = rows_from_axis(x.shape, axis);
  const int64_t parameters = call->input(1).count();
  if (parameters == 0 ? width != 0 : width % parameters != 0 || call->input(2).count() != parameters)
    throw InvalidCall("gamma and beta of " + std::to_string(parameters) + " elements do not fit rows of " +
                          std::to_string(width),
                      ACL_ERROR_OP_INPUT_NOT_MATCH);
  if (call->output(0).count() != x.count() || call->output(1).count() != rows ||
      call->output(2).count() != rows)
    throw InvalidCall("outputs do not fit the input " + text_of(x.shape), ACL_ERROR_OP_OUTPUT_NOT_MATCH);
  Plan plan;
  plan.compute = [call, epsilon, rows = rows, width = width] {
    const Tensor &in = call->inputs[0], &y = call->outputs[0];
    const auto gamma = read_all<double>(call->inputs[1]), beta = read_all<double>(call->inputs[2]);
    std::vector<double> row(static_cast<size_t>(width));
    for (int64_t r = 0; r < rows && width; r++) {
      load(in.type, in.data, r * width, width, row.data());
      const Moments m(row);
      const double scale = 1 / std::sqrt(m.variance + epsilon);
      for (size_t i = 0; i < row.size(); i++)
        row[i] = (row[i] - m.mean) * scale * gamma[i % gamma.size()] + beta[i % beta.size()];
      store(y.type, y.data, r * width, width, row.data());
      store(call->outputs[1].type, call->outputs[1].data, r, 1, &m.mean);
      store(call->outputs[2].type, call->outputs[2].data, r, 1, &m.variance);
    }
  };
  return plan;
}

// (gradient, x, variance, mean, gamma) -> (gradients of x, gamma, beta). The call does not say what was added
// to the variance: torch's default, 1e-5, is assumed.
Plan plan_layer_norm_grad(const std::shared_ptr<const Call>& call) {
  const int64_t rows = call->input(2).count(), width = rows ? call->input(1).count() / rows : 0;
  if (call->input(0).count() != rows * width || call->input(3).count() != rows ||
      call->input(4).count() != width || call->output(0).count() != rows * width ||
      call->output(1).count() != width || call->output(2).count() != width)
    throw InvalidCall("operands do not fit " + std::to_string(rows) + " rows of " + std::to_string(width),
                      ACL_ERROR_OP_INPUT_NOT_MATCH);
  Plan plan;
  plan.compute = [call, rows, width] {
    const auto g = read_all<double>(call->inputs[0]), x = read_all<double>(call->inputs[1]),
               variances = read_all<double>(call->inputs[2]), means = read_all<double>(call->inputs[3]),
               gamma = read_all<double>(call->inputs[4]);
    std::vector<double> dx(g.size()), dgamma(gamma.size(), 0), dbeta(gamma.size(), 0);
    for (int64_t r = 0; r < rows; r++) {
      const double scale = 1 / std::sqrt(variances[r] + 1e-5);
      double sum = 0, product = 0;  // of the gradient of the normalised row, and of it with the row
      auto normal = [&](int64_t i) { return (x[r * width + i] - means[r]) * scale; };
      for (int64_t i = 0; i < width; i++) {
        const double own = g[r * width + i];
        sum += own * gamma[i];
        product += own * gamma[i] * normal(i);
        dgamma[i] += own * normal(i);
        dbeta[i] += own;
      }
      for (int64_t i = 0; i < width; i++)
        dx[r * width + i] =
            scale * (g[r * width + i] * gamma[i] - (sum + normal(i) * product) / static_cast<double>(width));
    }
    write_all(call->outputs[0], dx);
    write_all(call->outputs[1], dgamma);
    write_all(call->outputs[2], dbeta);
  };
  return plan;
}

// (x, gamma, beta) -> (y, mean, 1 / standard deviation): the channels of each item in num_groups groups.
Plan plan_group_norm(const std::shared_ptr<const Call>& call) {
  const Tensor& x = call->input(0);
  const int64_t groups = call->attributes.integer("num_groups", 1);
  if (x.shape.size() < 2 || groups < 1 || x.shape[1] % groups != 0 || call->input(1).count() != x.shape[1] ||
      call->input(2).count() != x.shape[1])
    throw InvalidCall(std::to_string(groups) + " groups do not fit " + text_of(x.shape),
                      ACL_ERROR_OP_INPUT_NOT_MATCH);
  const double epsilon = call->attributes.number("eps", 1e-5);
  const int64_t rows = x.shape[0] * groups, width = rows ? x.count() / rows : 0;
  if (call->output(0).count() != x.count() || call->output(1).count() != rows ||
      call->output(2).count() != rows)
    throw InvalidCall("outputs do not fit the input " + text_of(x.shape), ACL_ERROR_OP_OUTPUT_NOT_MATCH);
  Plan plan;
  plan.compute = [call, epsilon, groups, rows, width] {
    const Tensor &in = call->inputs[0], &y = call->outputs[0];
    const auto gamma = read_all<double>(call->inputs[1]), beta = read_all<double>(call->inputs[2]);
    const int64_t channels = in.shape[1] / groups, inner = width / channels;
    std::vector<double> row(static_cast<size_t>(width));
    for (int64_t r = 0; r < rows; r++) {
      load(in.type, in.data, r * width, width, row.data());
      const Moments m(row);
      const double scale = 1 / std::sqrt(m.variance + epsilon);
      for (int64_t i = 0; i < width; i++) {
        const int64_t channel = r % groups * channels + i / inner;
        row[i] = (row[i] - m.mean) * scale * gamma[channel] + beta[channel];
      }
      store(y.type, y.data, r * width, width, row.data());
      store(call->outputs[1].type, call->outputs[1].data, r, 1, &m.mean);
      store(call->outputs[2].type, call->outputs[2].data, r, 1, &scale);
    }
  };
  return plan;
}

}  // namespace

void add_normalise(Registry& r) {
  r.add("SoftmaxV2", plan_softmax<false>);
  r.add("LogSoftmaxV2", plan_softmax<true>);
  r.add("SoftmaxGrad", plan_softmax_grad<false>);
  r.add("LogSoftmaxGrad", plan_softmax_grad<true>);
  r.add("ReduceLogSumExp", plan_log_sum_exp);
  r.add("LayerNorm", plan_layer_norm);
  r.add("LayerNormGrad", plan_layer_norm_grad);
  r.add("GroupNorm", plan_group_norm);
}

}  // namespace cann_sim::ops
