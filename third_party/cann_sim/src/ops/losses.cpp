// Losses and their gradients. The attribute `reduction` is "none", "mean" or "sum"; sums are accumulated in
// double.
#include <cmath>

#include "ops/indices.h"
#include "ops/map_plan.h"

namespace cann_sim::ops {
namespace {

enum class Reduction { None, Mean, Sum };

Reduction reduction_of(const Call& call) {
  const std::string name = call.attributes.text("reduction", "mean");
  if (name == "none") return Reduction::None;
  if (name == "mean") return Reduction::Mean;
  if (name == "sum") return Reduction::Sum;
  throw InvalidCall("reduction must be none, mean or sum, not " + name);
}

// f of the first N inputs, elementwise, then reduced. All inputs have the first one's shape.
template <size_t N, class F>
Plan loss(const std::shared_ptr<const Call>& call, F f) {
  const Reduction reduction = reduction_of(*call);
  if (reduction == Reduction::None) return map_floats<N>(call, f);
  for (size_t k = 0; k < N; k++)
    if (call->input(k).count() != call->input(0).count())
      throw InvalidCall("inputs of different sizes", ACL_ERROR_OP_INPUT_NOT_MATCH);
  if (call->output(0).count() != 1) throw InvalidCall("one output element is expected");
  Plan plan;
  plan.compute = [call, f, reduction] {
    std::array<std::vector<double>, N> storage;
    std::array<double*, N> values;
    const int64_t count = call->inputs[0].count();
    for (size_t k = 0; k < N; k++) {
      storage[k].resize(static_cast<size_t>(count));
      load(call->inputs[k].type, call->inputs[k].data, 0, count, storage[k].data());
      values[k] = storage[k].data();
    }
    double sum = 0;
    for (int64_t i = 0; i < count; i++) sum += apply(f, values, i, std::make_index_sequence<N>());
    if (reduction == Reduction::Mean) sum /= static_cast<double>(count);
    store(call->outputs[0].type, call->outputs[0].data, 0, 1, &sum);
  };
  return plan;
}

// f of the first N inputs is the gradient of a sum; that of a mean is a share of it.
template <size_t N, class F>
Plan loss_gradient(const std::shared_ptr<const Call>& call, F f) {
  const double share =
      reduction_of(*call) == Reduction::Mean ? 1 / static_cast<double>(call->output(0).count()) : 1;
  return map_floats<N>(call, [f, share](auto first, auto... rest) {
    return f(first, rest...) * static_cast<decltype(first)>(share);
  });
}

Plan plan_mse(const std::shared_ptr<const Call>& call) {
  return loss<2>(call, [](auto x, auto y) { return (x - y) * (x - y); });
}
Plan plan_mse_grad(const std::shared_ptr<const Call>& call) {
  return loss_gradient<3>(call, [](auto x, auto y, auto g) { return g * 2 * (x - y); });
}

Plan plan_lp(const std::shared_ptr<const Call>& call) {
  if (call->attributes.integer("p", 1) != 1) throw InvalidCall("only p = 1 is supported");
  return loss<2>(call, [](auto x, auto y) { return std::fabs(x - y); });
}
Plan plan_l1_grad(const std::shared_ptr<const Call>& call) {
  return loss_gradient<3>(
      call, [](auto g, auto x, auto y) { return x == y ? g * 0 : std::copysign(g, (x - y) * g); });
}

// Quadratic within `sigma` of the target, linear beyond.
Plan plan_smooth_l1(const std::shared_ptr<const Call>& call) {
  const double sigma = call->attributes.number("sigma", 1);
  return loss<2>(call, [sigma](auto x, auto y) {
    using C = decltype(x);
    const C d = std::fabs(x - y);
    return d < C(sigma) ? d * d / C(2 * sigma) : d - C(sigma / 2);
  });
}
Plan plan_smooth_l1_grad(const std::shared_ptr<const Call>& call) {
  const double sigma = call->attributes.number("sigma", 1);
  return loss_gradient<3>(call, [sigma](auto x, auto y, auto g) {
    using C = decltype(x);
    const C d = x - y;
    return std::fabs(d) < C(sigma) ? g * d / C(sigma) : d > 0 ? g : -g;
  });
}

// (x, target, weight); logarithms are cut off at -100, as in torch.
Plan plan_cross_entropy(const std::shared_ptr<const Call>& call) {
  return loss<3>(call, [](auto x, auto y, auto weight) {
    using C = decltype(x);
    return -weight * (y * std::max(std::log(x), C(-100)) + (1 - y) * std::max(std::log1p(-x), C(-100)));
  });
}

// (logits, target, weight, weight of the positive class)
Plan plan_logits_cross_entropy(const std::shared_ptr<const Call>& call) {
  return loss<4>(call, [](auto x, auto y, auto weight, auto positive) {
    const auto log_other = std::log1p(std::exp(-std::fabs(x))) + (x < 0 ? -x : 0);  // -log(sigmoid(x))
    return weight * ((1 - y) * x + (1 + (positive - 1) * y) * log_other);
  });
}

// (logits, target, gradient, weight, weight of the positive class)
Plan plan_logits_cross_entropy_grad(const std::shared_ptr<const Call>& call) {
  return loss_gradient<5>(call, [](auto x, auto y, auto g, auto weight, auto positive) {
    const auto t = positive * y;
    return g * weight * ((t + 1 - y) / (1 + std::exp(-x)) - t);
  });
}

// (log probabilities, target)
Plan plan_kl_div(const std::shared_ptr<const Call>& call) {
  const bool log_target = call->attributes.flag("log_target", false);
  return loss<2>(call, [log_target](auto x, auto y) {
    if (log_target) return std::exp(y) * (y - x);
    return y > 0 ? y * (std::log(y) - x) : -y * x;
  });
}

// ---- negative log likelihood: one probability per row ---------------------------------------------------
struct Rows {
  int64_t count, classes;
};

Rows rows_of(const Call& call, size_t targets, size_t weights) {
  const Shape& shape = call.input(0).shape;
  if (shape.empty() || shape.size() > 2) throw InvalidCall("a matrix is expected, not " + text_of(shape));
  const Rows rows{shape.size() == 2 ? shape[0] : 1, shape.back()};
  check_indices(call.input(targets));
  if (call.input(targets).count() != rows.count || call.input(weights).count() != rows.classes)
    throw InvalidCall("targets " + text_of(call.input(targets).shape) + " or weights " +
                          text_of(call.input(weights).shape) + " do not fit " + text_of(shape),
                      ACL_ERROR_OP_INPUT_NOT_MATCH);
  return rows;
}

// The weight of each row's class; 0 for rows to be ignored, whose class is then 0.
std::vector<double> row_weights(const std::string& type, const Tensor& weights, std::vector<int64_t>& classes,
                                int64_t ignored) {
  std::vector<double> all(static_cast<size_t>(weights.count())), result;
  load(weights.type, weights.data, 0, weights.count(), all.data());
  for (int64_t& target : classes) {
    const bool ignore = target == ignored;
    target = ignore ? 0 : checked_index(type, target, weights.count());
    result.push_back(ignore ? 0 : all[target]);
  }
  return result;
}

// (log probabilities, classes, weights) -> (loss, sum of the weights)
Plan plan_nll(const std::shared_ptr<const Call>& call) {
  const Rows rows = rows_of(*call, 1, 2);
  const Reduction reduction = reduction_of(*call);
  const int64_t ignored = call->attributes.integer("ignore_index", -100);
  if (call->output(0).count() != (reduction == Reduction::None ? rows.count : 1))
    throw InvalidCall("output shape " + text_of(call->output(0).shape) + " does not fit");
  Plan plan;
  plan.compute = [call, rows, reduction, ignored] {
    const Tensor &x = call->inputs[0], &out = call->outputs[0];
    std::vector<int64_t> classes = read_all<int64_t>(call->inputs[1]);
    const std::vector<double> weights = row_weights(call->type, call->inputs[2], classes, ignored);
    std::vector<double> losses;
    double sum = 0, total = 0;
    for (int64_t row = 0; row < rows.count; row++) {
      double value;
      load(x.type, x.data, row * rows.classes + classes[row], 1, &value);
      losses.push_back(weights[row] == 0 ? 0 : -weights[row] * value);
      sum += losses.back();
      total += weights[row];
    }
    if (reduction != Reduction::None) losses = {reduction == Reduction::Mean ? sum / total : sum};
    store(out.type, out.data, 0, static_cast<int64_t>(losses.size()), losses.data());
    if (call->outputs.size() > 1) store(call->outputs[1].type, call->outputs[1].data, 0, 1, &total);
  };
  return plan;
}

// (log probabilities, gradient, classes, weights, sum of the weights)
Plan plan_nll_grad(const std::shared_ptr<const Call>& call) {
  const Rows rows = rows_of(*call, 2, 3);
  const Reduction reduction = reduction_of(*call);
  const int64_t ignored = call->attributes.integer("ignore_index", -100);
  const int64_t gradients = reduction == Reduction::None ? rows.count : 1;
  if (call->input(1).count() != gradients || call->output(0).count() != call->input(0).count())
    throw InvalidCall("gradient " + text_of(call->input(1).shape) + " or output " +
                      text_of(call->output(0).shape) + " does not fit");
  call->input(4);
  Plan plan;
  plan.compute = [call, rows, reduction, ignored] {
    const Tensor &gradient = call->inputs[1], &out = call->outputs[0];
    std::vector<int64_t> classes = read_all<int64_t>(call->inputs[2]);
    const std::vector<double> weights = row_weights(call->type, call->inputs[3], classes, ignored);
    double total = 1;
    if (reduction == Reduction::Mean) load(call->inputs[4].type, call->inputs[4].data, 0, 1, &total);
    std::vector<double> line(static_cast<size_t>(rows.classes));
    for (int64_t row = 0; row < rows.count; row++) {
      double g;
      load(gradient.type, gradient.data, reduction == Reduction::None ? row : 0, 1, &g);
      std::fill(line.begin(), line.end(), 0);
      line[classes[row]] = weights[row] == 0 ? 0 : -g * weights[row] / total;
      store(out.type, out.data, row * rows.classes, rows.classes, line.data());
    }
  };
  return plan;
}

}  // namespace

void add_losses(Registry& r) {
  r.add("MseLoss", plan_mse);
  r.add("MseLossGrad", plan_mse_grad);
  r.add("LpLoss", plan_lp);
  r.add("L1LossGrad", plan_l1_grad);
  r.add("SmoothL1LossV2", plan_smooth_l1);
  r.add("SmoothL1LossGradV2", plan_smooth_l1_grad);
  r.add("BinaryCrossEntropy", plan_cross_entropy);
  r.add("SigmoidCrossEntropyWithLogitsV2", plan_logits_cross_entropy);
  r.add("SigmoidCrossEntropyWithLogitsGradV2", plan_logits_cross_entropy_grad);
  r.add("KLDiv", plan_kl_div);
  r.add("NLLLoss", plan_nll);
  r.add("NLLLossGrad", plan_nll_grad);
}

}  // namespace cann_sim::ops
