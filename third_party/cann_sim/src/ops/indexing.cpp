// Operators that read where index or mask tensors say.
#include <cstring>

#include "ops/axes.h"
#include "ops/checks.h"
#include "ops/indices.h"
#include "ops/map.h"

namespace cann_sim::ops {
namespace {

// The elements of x where the mask (broadcast to x) is set. The output is as long as x; how many there are is
// known afterwards.
Plan plan_masked_select(const std::shared_ptr<const Call>& call) {
  check_same_type(call->input(0), call->output(0));
  if (call->input(1).type != ACL_BOOL)
    throw InvalidCall("the mask must be bool", ACL_ERROR_UNSUPPORTED_DATA_TYPE);
  const Shape all = broadcast_shape({&call->input(0).shape, &call->input(1).shape});
  if (call->output(0).count() < count_of(all)) throw InvalidCall("the output may be too small");
  Plan plan;
  plan.result_shapes = std::make_shared<std::vector<Shape>>();
  plan.compute = [call, all, result = plan.result_shapes] {
    const Tensor &x = call->inputs[0], &mask = call->inputs[1], &out = call->outputs[0];
    const size_t width = element_bytes(x.type);
    int64_t found = 0;
    const Nest<2> nest(all, {broadcast_strides(x.shape, all), broadcast_strides(mask.shape, all)});
    nest.each([&](const auto& at, int64_t n) {
      for (int64_t i = 0; i < n; i++)
        if (mask.data[at[1] + i * nest.inner_stride(1)] != std::byte{0})
          std::memcpy(out.data + width * static_cast<size_t>(found++),
                      x.data + static_cast<int64_t>(width) * (at[0] + i * nest.inner_stride(0)), width);
    });
    *result = {{found}};
  };
  return plan;
}

// The indices of all elements that are not zero: (rank, found), or (found, rank) without `transpose`.
Plan plan_non_zero(const std::shared_ptr<const Call>& call) {
  const Tensor &x = call->input(0), &out = call->output(0);
  check_indices(out);
  const bool transpose = call->attributes.flag("transpose", false);
  const auto rank = static_cast<int64_t>(x.shape.size());
  if (out.count() < rank * x.count()) throw InvalidCall("the output may be too small");
  Plan plan;
  plan.result_shapes = std::make_shared<std::vector<Shape>>();
  plan.compute = [call, transpose, rank, result = plan.result_shapes] {
    const Tensor &in = call->inputs[0], &indices = call->outputs[0];
    std::vector<int64_t> places;
    with_arithmetic(arithmetic_of(in.type), [&](auto zero) {
      decltype(zero) block[kBlock];
      for (int64_t at = 0; at < in.count(); at += kBlock) {
        const int64_t n = std::min(kBlock, in.count() - at);
        load(in.type, in.data, at, n, block);
        for (int64_t i = 0; i < n; i++)
          if (block[i] != 0) places.push_back(at + i);
      }
    });
    const auto found = static_cast<int64_t>(places.size());
    const Shape strides = contiguous_strides(in.shape);
    std::vector<int64_t> answer(static_cast<size_t>(rank * found));
    for (int64_t k = 0; k < found; k++)
      for (int64_t d = 0; d < rank; d++)
        answer[transpose ? d * found + k : k * rank + d] = places[k] / strides[d] % in.shape[d];
    store(indices.type, indices.data, 0, rank * found, answer.data());
    *result = {transpose ? Shape{rank, found} : Shape{found, rank}};
  };
  return plan;
}

// Which elements advanced indexing names. `indexed` has a 1 for every dimension of `shape` that an index
// tensor stands for; the indices broadcast together, and their dimensions come first or in place of the first
// indexed one.
class Selection {
 public:
  Selection(const Call& call, const Tensor& x, const std::vector<int64_t>& indexed, size_t first_index)
      : shape_(x.shape) {
    for (size_t d = 0; d < indexed.size() && d < shape_.size(); d++)
      if (indexed[d]) dimensions_.push_back(d);
    if (dimensions_.empty() || call.inputs.size() < first_index + dimensions_.size())
      throw InvalidCall("the index tensors do not fit the indexed dimensions", ACL_ERROR_OP_INPUT_NOT_MATCH);
    std::vector<const Shape*> shapes;
    for (size_t k = 0; k < dimensions_.size(); k++) {
      inputs_.push_back(first_index + k);
      check_indices(call.input(first_index + k));
      shapes.push_back(&call.input(first_index + k).shape);
    }
    index_shape_ = broadcast_shape(shapes);
    const bool together = dimensions_.back() - dimensions_.front() + 1 == dimensions_.size();
    place_ = together ? dimensions_.front() : 0;
    for (size_t d = 0; d < shape_.size(); d++)
      if (std::find(dimensions_.begin(), dimensions_.end(), d) == dimensions_.end()) rest_.push_back(d);
    for (size_t k = 0; k < rest_.size(); k++) {
      if (k == place_) result_.insert(result_.end(), index_shape_.begin(), index_shape_.end());
      result_.push_back(shape_[rest_[k]]);
    }
    if (rest_.size() <= place_) result_.insert(result_.end(), index_shape_.begin(), index_shape_.end());
  }

  const Shape& result() const { return result_; }

  // Offsets in x of the selected elements, in the order of the result.
  std::vector<int64_t> offsets(const Call& call) const {
    const Shape strides = contiguous_strides(shape_);
    std::vector<int64_t> indexed(static_cast<size_t>(count_of(index_shape_)), 0);
    for (size_t k = 0; k < dimensions_.size(); k++) {
      const Tensor& index = call.inputs[inputs_[k]];
      const std::vector<int64_t> values = read_all<int64_t>(index);
      const Nest<2> nest(index_shape_,
                         {broadcast_strides(index.shape, index_shape_), contiguous_strides(index_shape_)});
      const size_t d = dimensions_[k];
      nest.each([&](const auto& at, int64_t n) {
        for (int64_t i = 0; i < n; i++)
          indexed[at[1] + i] +=
              strides[d] * checked_index(call.type, values[at[0] + i * nest.inner_stride(0)], shape_[d]);
      });
    }
    // The result's dimensions: some of `rest`, the indices as one, the others.
    Shape sizes, steps;
    for (size_t k = 0; k <= rest_.size(); k++) {
      if (k == std::min(place_, rest_.size())) {
        sizes.push_back(static_cast<int64_t>(indexed.size()));
        steps.push_back(-1);
      }
      if (k < rest_.size()) {
        sizes.push_back(shape_[rest_[k]]);
        steps.push_back(strides[rest_[k]]);
      }
    }
    std::vector<int64_t> all(1, 0);
    for (size_t d = 0; d < sizes.size(); d++) {
      std::vector<int64_t> next;
      next.reserve(all.size() * static_cast<size_t>(sizes[d]));
      for (int64_t base : all)
        for (int64_t i = 0; i < sizes[d]; i++)
          next.push_back(base + (steps[d] < 0 ? indexed[i] : i * steps[d]));
      all = std::move(next);
    }
    return all;
  }

 private:
  Shape shape_, index_shape_, result_;
  std::vector<size_t> dimensions_, inputs_, rest_;
  size_t place_ = 0;
};

// (x, which dimensions are indexed, strides, index tensors...)
Plan plan_index(const std::shared_ptr<const Call>& call) {
  check_same_type(call->input(0), call->output(0));
  const Selection selection(*call, call->input(0), integers_of(call->input(1)), 3);
  if (call->output(0).count() != count_of(selection.result()))
    throw InvalidCall("output shape " + text_of(call->output(0).shape) + ", but " +
                          text_of(selection.result()) + " is selected",
                      ACL_ERROR_OP_OUTPUT_NOT_MATCH);
  Plan plan;
  plan.compute = [call, selection] {
    const Tensor &x = call->inputs[0], &out = call->outputs[0];
    const size_t width = element_bytes(x.type);
    std::byte* to = out.data;
    for (int64_t offset : selection.offsets(*call)) {
      std::memcpy(to, x.data + offset * static_cast<int64_t>(width), width);
      to += width;
    }
  };
  return plan;
}

// (x, values, which dimensions are indexed, strides, index tensors...): the output is x, changed where the
// indices say. They may be the same memory.
Plan plan_index_put(const std::shared_ptr<const Call>& call) {
  const Tensor &x = call->input(0), &values = call->input(1);
  check_same_type(x, values);
  check_same_type(x, call->output(0));
  check_output_shape(*call, x.shape);
  const Selection selection(*call, x, integers_of(call->input(2)), 4);
  check_broadcast(values.shape, selection.result());
  const bool accumulate = call->attributes.flag("accumulate", false);
  Plan plan;
  plan.compute = [call, selection, accumulate] {
    const Tensor &target = call->outputs[0], &source = call->inputs[1];
    if (target.data != call->inputs[0].data) std::memcpy(target.data, call->inputs[0].data, target.bytes());
    const std::vector<int64_t> offsets = selection.offsets(*call);
    const auto width = static_cast<int64_t>(element_bytes(target.type));
    const Nest<2> nest(selection.result(), {broadcast_strides(source.shape, selection.result()),
                                            contiguous_strides(selection.result())});
    nest.each([&](const auto& at, int64_t n) {
      for (int64_t i = 0; i < n; i++) {
        const int64_t to = offsets[at[1] + i], from = at[0] + i * nest.inner_stride(0);
        if (!accumulate) {
          std::memcpy(target.data + to * width, source.data + from * width, width);
          continue;
        }
        with_arithmetic(arithmetic_of(target.type), [&](auto zero) {
          decltype(zero) sum, addend;
          load(target.type, target.data, to, 1, &sum);
          load(source.type, source.data, from, 1, &addend);
          sum += addend;
          store(target.type, target.data, to, 1, &sum);
        });
      }
    });
  };
  return plan;
}

// Whole slices of input 0 along one axis, where input 1 says.
Plan gather_along(const std::shared_ptr<const Call>& call, int64_t axis) {
  const Tensor &x = call->input(0), &indices = call->input(1);
  check_same_type(x, call->output(0));
  check_indices(indices);
  const Lines lines(x.shape, axis);
  if (call->output(0).count() != lines.count * indices.count())
    throw InvalidCall("output shape " + text_of(call->output(0).shape) + " does not fit",
                      ACL_ERROR_OP_OUTPUT_NOT_MATCH);
  Plan plan;
  plan.compute = [call, lines] {
    const Tensor &from = call->inputs[0], &out = call->outputs[0];
    const auto bytes =
        static_cast<int64_t>(element_bytes(from.type)) * lines.stride;  // of one contiguous piece
    const std::vector<int64_t> places = read_all<int64_t>(call->inputs[1]);
    std::byte* to = out.data;
    for (int64_t outer = 0; outer < lines.count / lines.stride; outer++)
      for (int64_t place : places) {
        const int64_t piece = outer * lines.length + checked_index(call->type, place, lines.length);
        std::memcpy(to, from.data + piece * bytes, bytes);
        to += bytes;
      }
  };
  return plan;
}

// (x, indices): out[i][j] = x[i][indices[i][j]] for dim = 1.
Plan plan_gather_elements(const std::shared_ptr<const Call>& call) {
  const Tensor &x = call->input(0), &indices = call->input(1);
  check_same_type(x, call->output(0));
  check_indices(indices);
  const int64_t axis = normal_axis(call->attributes.integer("dim", 0), x.shape.size());
  if (indices.shape.size() != x.shape.size() || call->output(0).shape != indices.shape)
    throw InvalidCall("indices of shape " + text_of(indices.shape) + " do not fit",
                      ACL_ERROR_OP_INPUT_NOT_MATCH);
  for (size_t d = 0; d < x.shape.size(); d++)
    if (static_cast<int64_t>(d) != axis && indices.shape[d] > x.shape[d])
      throw InvalidCall("indices of shape " + text_of(indices.shape) + " are larger than x " +
                        text_of(x.shape));
  Plan plan;
  plan.compute = [call, axis] {
    const Tensor &from = call->inputs[0], &out = call->outputs[0];
    const std::vector<int64_t> places = read_all<int64_t>(call->inputs[1]);
    const Shape strides = contiguous_strides(from.shape), own = contiguous_strides(out.shape);
    const auto width = static_cast<int64_t>(element_bytes(from.type));
    for (size_t i = 0; i < places.size(); i++) {
      int64_t offset = 0;
      for (size_t d = 0; d < strides.size(); d++) {
        const bool chosen = static_cast<int64_t>(d) == axis;
        const int64_t at = chosen ? checked_index(call->type, places[i], from.shape[d])
                                  : static_cast<int64_t>(i) / own[d] % out.shape[d];
        offset += at * strides[d];
      }
      std::memcpy(out.data + static_cast<int64_t>(i) * width, from.data + offset * width, width);
    }
  };
  return plan;
}

// (x, indices, axis)
Plan plan_gather(const std::shared_ptr<const Call>& call) {
  if (call->attributes.integer("batch_dims", 0) != 0)
    throw InvalidCall("batch_dims other than 0 are not supported");
  return gather_along(call, normal_axis(integer_of(call->input(2)), call->input(0).shape.size()));
}

// (x, indices): whole slices along the first axis.
Plan plan_gather_first(const std::shared_ptr<const Call>& call) {
  const Tensor& x = call->input(0);
  if (x.shape.empty()) throw InvalidCall("x has no dimensions");
  return gather_along(call, 0);
}

// (sorted lines, values): the place at which each value would be inserted, before equal ones or behind them
// (right). One line for all values, or one for each line of the values.
Plan plan_search_sorted(const std::shared_ptr<const Call>& call) {
  const Tensor &lines = call->input(0), &values = call->input(1);
  const int64_t length = lines.shape.empty() ? 1 : lines.shape.back();
  const int64_t count = length ? lines.count() / length : 1;
  if (call->output(0).count() != values.count() || (count != 1 && values.count() % count != 0))
    throw InvalidCall("values " + text_of(values.shape) + " do not fit " + text_of(lines.shape));
  const bool right = call->attributes.flag("right", false);
  Plan plan;
  plan.compute = [call, length, count, right] {
    const auto sorted = read_all<double>(call->inputs[0]), wanted = read_all<double>(call->inputs[1]);
    std::vector<int64_t> places;
    for (size_t k = 0; k < wanted.size(); k++) {
      const auto begin = sorted.begin() + static_cast<int64_t>(k / (wanted.size() / count)) * length;
      const auto at = right ? std::upper_bound(begin, begin + length, wanted[k])
                            : std::lower_bound(begin, begin + length, wanted[k]);
      places.push_back(at - begin);
    }
    write_all(call->outputs[0], places);
  };
  return plan;
}

}  // namespace

void add_indexing(Registry& r) {
  r.add("MaskedSelect", plan_masked_select);
  r.add("NonZero", plan_non_zero);
  r.add("Index", plan_index);
  r.add("IndexPutV2", plan_index_put);
  r.add("GatherV2", plan_gather);
  r.add("Gather", plan_gather_first);
  r.add("SearchSorted", plan_search_sorted);
  r.add("GatherElements", plan_gather_elements);
}

}  // namespace cann_sim::ops
