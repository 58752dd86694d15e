// Operators that shift elements, or put others beside or in place of them.
#include <algorithm>

#include "ops/axes.h"
#include "ops/checks.h"
#include "ops/map.h"
#include "ops/strided.h"

namespace cann_sim::ops {
namespace {

// Every element moved on by `shifts` along `dims`, or along the flattened tensor without any; what leaves at
// the end comes in at the beginning.
Plan plan_roll(const std::shared_ptr<const Call>& call) {
  const Tensor& x = call->input(0);
  check_same_type(x, call->output(0));
  check_output_shape(*call, x.shape);
  const auto shifts = call->attributes.integers("shifts", {}), dims = call->attributes.integers("dims", {});
  const Shape sizes = dims.empty() ? Shape{x.count()} : x.shape;
  Shape by(sizes.size(), 0);
  if (dims.empty())
    by[0] = shifts.at(0);
  else
    check_length(dims, shifts.size(), "dims");
  for (size_t k = 0; k < dims.size(); k++) by[normal_axis(dims[k], sizes.size())] += shifts[k];
  Plan plan;
  plan.keeps_zero = true;
  plan.compute = [call, sizes, by] {
    const Tensor &from = call->inputs[0], &to = call->outputs[0];
    const Shape strides = contiguous_strides(sizes);
    const auto width = static_cast<int64_t>(element_bytes(from.type));
    for (int64_t i = 0; i < from.count(); i++) {
      int64_t target = 0;
      for (size_t d = 0; d < by.size(); d++) {
        const int64_t size = sizes[d], at = i / strides[d] % size;
        target += (((at + by[d]) % size + size) % size) * strides[d];
      }
      std::copy_n(from.data + i * width, width, to.data + target * width);
    }
  };
  return plan;
}

// (x, before and after each dimension, value); the value, if it is not a constant, is read when it runs.
Plan plan_pad(const std::shared_ptr<const Call>& call) {
  const Tensor &x = call->input(0), &out = call->output(0);
  const std::string mode = call->attributes.text("mode", "constant");
  if (mode != "constant") throw InvalidCall("only mode constant is supported, not " + mode);
  check_same_type(x, out);
  const auto padding = integers_of(call->input(1));
  check_length(padding, 2 * x.shape.size(), "the paddings");
  const bool pairs = call->attributes.flag("paddings_contiguous", true);
  const size_t rank = x.shape.size();
  Shape expected;
  int64_t offset = 0;
  const Shape strides = contiguous_strides(out.shape);
  for (size_t d = 0; d < rank; d++) {
    const int64_t before = padding[pairs ? 2 * d : d], after = padding[pairs ? 2 * d + 1 : rank + d];
    if (before < 0 || after < 0) throw InvalidCall("negative padding");
    expected.push_back(before + x.shape[d] + after);
    if (out.shape.size() == rank) offset += before * strides[d];
  }
  check_output_shape(*call, expected);
  Plan plan;
  plan.compute = [call, offset, strides] {
    const Tensor &from = call->inputs[0], &to = call->outputs[0];
    const size_t width = element_bytes(from.type);
    std::vector<std::byte> value(width, std::byte{0});
    if (call->inputs.size() > 2 && call->inputs[2].count() > 0)
      with_arithmetic(arithmetic_of(to.type), [&](auto zero) {
        load(call->inputs[2].type, call->inputs[2].data, 0, 1, &zero);
        store(to.type, value.data(), 0, 1, &zero);
      });
    for (size_t at = 0; at < to.bytes(); at += width) std::copy_n(value.data(), width, to.data + at);
    copy_strided({to.data, offset, strides}, {from.data, 0, contiguous_strides(from.shape)}, from.shape,
                 width);
  };
  return plan;
}

// The lower or upper triangle of each matrix, zero elsewhere.
template <bool Lower>
Plan plan_triangle(const std::shared_ptr<const Call>& call) {
  const Tensor &in = call->input(0), &out = call->output(0);
  check_same_type(in, out);
  check_output_shape(*call, in.shape);
  if (in.shape.size() < 2) throw InvalidCall("a matrix is expected, not " + text_of(in.shape));
  const int64_t diagonal = call->attributes.integer("diagonal", 0);
  Plan plan;
  plan.keeps_zero = true;
  plan.compute = [call, diagonal] {
    const Tensor &from = call->inputs[0], &to = call->outputs[0];
    const int64_t columns = from.shape.back(), rows = from.shape[from.shape.size() - 2];
    const auto width = static_cast<int64_t>(element_bytes(from.type));
    for (int64_t line = 0; columns && line < from.count() / columns; line++) {
      const int64_t edge = line % rows + diagonal;  // column of the diagonal in this row
      const int64_t begin = Lower ? 0 : std::clamp<int64_t>(edge, 0, columns);
      const int64_t end = Lower ? std::clamp<int64_t>(edge + 1, 0, columns) : columns;
      std::byte* row = to.data + line * columns * width;
      std::fill(row, row + begin * width, std::byte{0});
      if (from.data != to.data)
        std::copy_n(from.data + (line * columns + begin) * width, (end - begin) * width, row + begin * width);
      std::fill(row + end * width, row + columns * width, std::byte{0});
    }
  };
  return plan;
}

}  // namespace

void add_padding(Registry& r) {
  r.add("Roll", plan_roll);
  r.add("PadV3", plan_pad);
  r.add("Tril", plan_triangle<true>);
  r.add("Triu", plan_triangle<false>);
}

}  // namespace cann_sim::ops
