// Operators that write where index or mask tensors say, or as often as counts say.
#include <cstring>

#include "ops/axes.h"
#include "ops/checks.h"
#include "ops/indices.h"
#include "ops/map.h"
#include "ops/registry.h"

namespace cann_sim::ops {
namespace {

void check_count(const Tensor& tensor, int64_t count, const char* what) {
  if (tensor.count() != count)
    throw InvalidCall(std::string(what) + " of shape " + text_of(tensor.shape) + ", but " +
                          std::to_string(count) + " elements are expected",
                      ACL_ERROR_OP_INPUT_NOT_MATCH);
}

// The output begins as a copy of x, which it may be.
void start_from(const Tensor& x, const Tensor& out) {
  if (out.data != x.data) std::memcpy(out.data, x.data, out.bytes());
}

// Puts values into `all` and stores it in `out` in the end; floats are added in double.
template <class F>
void update_all(const Tensor& x, const Tensor& out, const Tensor& values, F each) {
  with_arithmetic(arithmetic_of(x.type), [&](auto zero) {
    using Wide = std::conditional_t<std::is_same_v<decltype(zero), int64_t>, int64_t, double>;
    std::vector<Wide> all = read_all<Wide>(x);
    each(all, read_all<Wide>(values));
    write_all(out, all);
  });
}

// (x, indices, values): x[.., indices[i, ..], ..] = values[i, ..] along an axis, or added. The values may be
// larger than the indices: their first part counts.
Plan plan_scatter_elements(const std::shared_ptr<const Call>& call) {
  const Tensor &x = call->input(0), &indices = call->input(1), &values = call->input(2);
  check_same_type(x, values);
  check_same_type(x, call->output(0));
  check_indices(indices);
  check_count(call->output(0), x.count(), "output");
  const int64_t axis = normal_axis(call->attributes.integer("axis", 0), x.shape.size());
  const std::string reduction = call->attributes.text("reduction", "none");
  if (reduction != "none" && reduction != "add")
    throw InvalidCall("reduction must be none or add, not " + reduction);
  for (size_t d = 0; d < x.shape.size() || d < indices.shape.size(); d++)
    if (x.shape.size() != indices.shape.size() || values.shape.size() != x.shape.size() ||
        indices.shape[d] > values.shape[d] ||
        (static_cast<int64_t>(d) != axis && indices.shape[d] > x.shape[d]))
      throw InvalidCall("indices " + text_of(indices.shape) + " do not fit x " + text_of(x.shape) +
                            " and values " + text_of(values.shape),
                        ACL_ERROR_OP_INPUT_NOT_MATCH);
  Plan plan;
  plan.compute = [call, axis, add = reduction == "add"] {
    const Tensor &in = call->inputs[0], &index = call->inputs[1], &from = call->inputs[2];
    const auto places = read_all<int64_t>(index);
    const Shape own = contiguous_strides(index.shape), to = contiguous_strides(in.shape),
                source = contiguous_strides(from.shape);
    update_all(in, call->outputs[0], from, [&](auto& all, const auto& given) {
      for (size_t i = 0; i < places.size(); i++) {
        int64_t target = 0, origin = 0;
        for (size_t d = 0; d < own.size(); d++) {
          const int64_t at = static_cast<int64_t>(i) / own[d] % index.shape[d];
          origin += at * source[d];
          target +=
              to[d] *
              (static_cast<int64_t>(d) == axis ? checked_index(call->type, places[i], in.shape[d]) : at);
        }
        all[target] = add ? all[target] + given[origin] : given[origin];
      }
    });
  };
  return plan;
}

// (x, indices, values, alpha): whole slices along an axis, alpha * value added.
Plan plan_index_add(const std::shared_ptr<const Call>& call) {
  const Tensor &x = call->input(0), &values = call->input(2);
  check_same_type(x, values);
  check_indices(call->input(1));
  check_count(call->output(0), x.count(), "output");
  const int64_t axis = normal_axis(call->attributes.integer("axis", 0), x.shape.size());
  const Lines lines(x.shape, axis);
  check_count(values, lines.count * call->input(1).count(), "values");
  const double alpha = call->inputs.size() > 3 ? number_of(call->input(3)) : 1;
  Plan plan;
  plan.compute = [call, lines, alpha] {
    const auto places = read_all<int64_t>(call->inputs[1]);
    const auto count = static_cast<int64_t>(places.size());
    update_all(call->inputs[0], call->outputs[0], call->inputs[2], [&](auto& all, const auto& given) {
      using Wide = std::decay_t<decltype(all[0])>;
      for (int64_t line = 0; line < lines.count; line++)
        for (int64_t k = 0; k < count; k++) {
          const int64_t to = checked_index(call->type, places[k], lines.length);
          const int64_t from = line / lines.stride * lines.stride * count + line % lines.stride;
          all[lines.start(line) + to * lines.stride] +=
              static_cast<Wide>(alpha) * given[from + k * lines.stride];
        }
    });
  };
  return plan;
}

// (x, factor, addend): torch_npu has put 0 and the value where the indices are, 1 and 0 elsewhere. The
// product is not formed where the factor is 0: x may be infinite there.
Plan plan_index_fill(const std::shared_ptr<const Call>& call) {
  for (size_t k = 0; k < 3; k++) check_count(call->input(k), call->output(0).count(), "input");
  Plan plan;
  plan.compute = [call] {
    update_all(call->inputs[0], call->outputs[0], call->inputs[1], [&](auto& all, const auto& factors) {
      const auto addends = read_all<std::decay_t<decltype(all[0])>>(call->inputs[2]);
      for (size_t i = 0; i < all.size(); i++)
        all[i] = factors[i] == 0 ? addends[i] : all[i] * factors[i] + addends[i];
    });
  };
  return plan;
}

// (x, indices, values): each row of indices names an element or a slice of x by its leading dimensions.
Plan plan_scatter_nd_update(const std::shared_ptr<const Call>& call) {
  const Tensor &x = call->input(0), &indices = call->input(1), &values = call->input(2);
  check_same_type(x, values);
  check_indices(indices);
  if (indices.shape.empty() || indices.shape.back() > static_cast<int64_t>(x.shape.size()))
    throw InvalidCall("indices " + text_of(indices.shape) + " do not fit x " + text_of(x.shape));
  int64_t slice = 1;
  for (size_t d = static_cast<size_t>(indices.shape.back()); d < x.shape.size(); d++) slice *= x.shape[d];
  const int64_t rows = indices.shape.back() ? indices.count() / indices.shape.back() : 0;
  check_count(values, rows * slice, "values");
  check_count(call->output(0), x.count(), "output");
  Plan plan;
  plan.compute = [call, slice, rows] {
    const Tensor &in = call->inputs[0], &out = call->outputs[0], &from = call->inputs[2];
    const auto places = read_all<int64_t>(call->inputs[1]);
    const Shape strides = contiguous_strides(in.shape);
    const int64_t depth = call->inputs[1].shape.back(), width = static_cast<int64_t>(element_bytes(in.type));
    start_from(in, out);
    for (int64_t row = 0; row < rows; row++) {
      int64_t to = 0;
      for (int64_t d = 0; d < depth; d++)
        to += strides[d] * checked_index(call->type, places[row * depth + d], in.shape[d]);
      std::memcpy(out.data + to * width, from.data + row * slice * width, slice * width);
    }
  };
  return plan;
}

// (x, mask, values): the values, in order, where the mask is set.
Plan plan_masked_scatter(const std::shared_ptr<const Call>& call) {
  const Tensor &x = call->input(0), &mask = call->input(1), &values = call->input(2);
  check_same_type(x, values);
  check_same_type(x, call->output(0));
  if (mask.type != ACL_BOOL) throw InvalidCall("the mask must be bool", ACL_ERROR_UNSUPPORTED_DATA_TYPE);
  check_broadcast(mask.shape, x.shape);
  check_count(call->output(0), x.count(), "output");
  Plan plan;
  plan.compute = [call] {
    const Tensor &in = call->inputs[0], &flags = call->inputs[1], &from = call->inputs[2],
                 &out = call->outputs[0];
    const auto width = static_cast<int64_t>(element_bytes(in.type));
    start_from(in, out);
    int64_t used = 0;
    const Nest<2> nest(in.shape, {contiguous_strides(in.shape), broadcast_strides(flags.shape, in.shape)});
    nest.each([&](const auto& at, int64_t n) {
      for (int64_t i = 0; i < n; i++) {
        if (flags.data[at[1] + i * nest.inner_stride(1)] == std::byte{0}) continue;
        checked_index(call->type, used, from.count());
        std::memcpy(out.data + (at[0] + i) * width, from.data + used++ * width, width);
      }
    });
  };
  return plan;
}

// (gradient of the looked-up rows, indices) -> gradient of the table
Plan plan_embedding_grad(const std::shared_ptr<const Call>& call) {
  const Tensor& out = call->output(0);
  check_indices(call->input(1));
  if (call->attributes.flag("scale_grad_by_freq", false))
    throw InvalidCall("scale_grad_by_freq is not supported");
  if (out.shape.size() != 2) throw InvalidCall("the output must be a matrix, not " + text_of(out.shape));
  check_count(call->input(0), call->input(1).count() * out.shape[1], "gradient");
  const int64_t padding = call->attributes.integer("padding_idx", -1);
  Plan plan;
  plan.compute = [call, padding] {
    const Tensor& table = call->outputs[0];
    const auto gradients = read_all<double>(call->inputs[0]);
    const auto rows = read_all<int64_t>(call->inputs[1]);
    std::vector<double> sums(static_cast<size_t>(table.count()), 0);
    const int64_t width = table.shape[1];
    for (size_t k = 0; k < rows.size(); k++) {
      if (rows[k] == padding) continue;
      const int64_t to = checked_index(call->type, rows[k], table.shape[0]) * width;
      for (int64_t i = 0; i < width; i++) sums[to + i] += gradients[static_cast<int64_t>(k) * width + i];
    }
    write_all(table, sums);
  };
  return plan;
}

// (classes, depth, on, off) -> `on` at each element's class along a new last axis, `off` elsewhere
Plan plan_one_hot(const std::shared_ptr<const Call>& call) {
  check_indices(call->input(0));
  const int64_t depth = integer_of(call->input(1));
  if (call->attributes.integer("axis", -1) != -1) throw InvalidCall("only the last axis is supported");
  check_count(call->output(0), call->input(0).count() * depth, "output");
  Plan plan;
  plan.compute = [call, depth] {
    const auto classes = read_all<int64_t>(call->inputs[0]);
    const double on = read_all<double>(call->inputs[2]).at(0), off = read_all<double>(call->inputs[3]).at(0);
    std::vector<double> all(static_cast<size_t>(call->outputs[0].count()), off);
    for (size_t k = 0; k < classes.size(); k++)
      all[static_cast<int64_t>(k) * depth + checked_index(call->type, classes[k], depth)] = on;
    write_all(call->outputs[0], all);
  };
  return plan;
}

// (values, size, weights): the sum of the weights of each value, or how often it occurs.
Plan plan_bincount(const std::shared_ptr<const Call>& call) {
  check_indices(call->input(0));
  const bool weighted = call->inputs.size() > 2 && call->input(2).count() > 0;
  if (weighted) check_count(call->input(2), call->input(0).count(), "weights");
  Plan plan;
  plan.compute = [call, weighted] {
    const auto values = read_all<int64_t>(call->inputs[0]);
    const auto weights = weighted ? read_all<double>(call->inputs[2]) : std::vector<double>(values.size(), 1);
    std::vector<double> sums(static_cast<size_t>(call->outputs[0].count()), 0);
    for (size_t k = 0; k < values.size(); k++)
      sums[checked_index(call->type, values[k], call->outputs[0].count())] += weights[k];
    write_all(call->outputs[0], sums);
  };
  return plan;
}

// Counts in `bins` equal parts of [min, max], or of the range of the values if both are equal.
Plan plan_histogram(const std::shared_ptr<const Call>& call) {
  const int64_t bins = call->attributes.integer("bins", 100);
  const double from = call->attributes.number("min", 0), to = call->attributes.number("max", 0);
  check_count(call->output(0), bins, "output");
  Plan plan;
  plan.compute = [call, bins, from, to] {
    const auto values = read_all<double>(call->inputs[0]);
    double low = from, high = to;
    if (low == high && !values.empty()) {
      low = *std::min_element(values.begin(), values.end());
      high = *std::max_element(values.begin(), values.end());
    }
    if (low == high) low--, high++;
    std::vector<int64_t> counts(static_cast<size_t>(bins), 0);
    for (double v : values)
      if (v >= low && v <= high)
        counts[std::min<int64_t>(bins - 1, static_cast<int64_t>((v - low) / (high - low) * bins))]++;
    write_all(call->outputs[0], counts);
  };
  return plan;
}

// (x, repeats): each slice along an axis as often as its count says, or all as often as the only one says.
Plan plan_repeat_interleave(const std::shared_ptr<const Call>& call) {
  const Tensor &x = call->input(0), &repeats = call->input(1);
  check_same_type(x, call->output(0));
  check_indices(repeats);
  const Lines lines(x.shape, normal_axis(call->attributes.integer("axis", 0), x.shape.size()));
  if (repeats.count() != 1) check_count(repeats, lines.length, "repeats");
  Plan plan;
  plan.compute = [call, lines] {
    const Tensor &in = call->inputs[0], &out = call->outputs[0];
    const auto counts = read_all<int64_t>(call->inputs[1]);
    const int64_t piece = lines.stride * static_cast<int64_t>(element_bytes(in.type));
    int64_t used = 0;
    const int64_t outer = lines.stride ? lines.count / lines.stride : 0;
    for (int64_t k = 0; k < outer * lines.length; k++)
      for (int64_t again = counts[counts.size() == 1 ? 0 : k % lines.length]; again > 0; again--, used++) {
        checked_index(call->type, used * lines.stride, out.count());
        std::memcpy(out.data + used * piece, in.data + k * piece, piece);
      }
  };
  return plan;
}

}  // namespace

void add_scatter(Registry& r) {
  r.add("ScatterElements", plan_scatter_elements);
  r.add("ScatterNdUpdate", plan_scatter_nd_update);
  r.add("InplaceIndexAdd", plan_index_add);
  r.add("IndexFillD", plan_index_fill);
  r.add("MaskedScatter", plan_masked_scatter);
  r.add("EmbeddingDenseGrad", plan_embedding_grad);
  r.add("OneHot", plan_one_hot);
  r.add("Bincount", plan_bincount);
  r.add("Histogram", plan_histogram);
  r.add("RepeatInterleave", plan_repeat_interleave);
}

}  // namespace cann_sim::ops
