// Operators that move or convert elements: their place in the output depends on shapes only.
#include "ops/axes.h"
#include "ops/checks.h"
#include "ops/map.h"
#include "ops/registry.h"
#include "ops/strided.h"

namespace cann_sim::ops {
namespace {

// output[i, j, ...] = input[offset + i * strides[0] + j * strides[1] + ...], where the output has `sizes`.
Plan gather_strided(const std::shared_ptr<const Call>& call, int64_t offset, const Shape& sizes,
                    const Shape& strides) {
  const Tensor &in = call->input(0), &out = call->output(0);
  check_same_type(in, out);
  const auto available = static_cast<int64_t>(in.buffer_bytes / element_bytes(in.type));
  if (!inside({in.data, offset, strides}, sizes, available))
    throw InvalidCall("sizes " + text_of(sizes) + ", strides " + text_of(strides) + " and offset " +
                      std::to_string(offset) + " reach outside the input's " + std::to_string(available) +
                      " elements");
  Plan plan;
  plan.keeps_zero = true;
  plan.compute = [call, offset, sizes, strides] {
    const Tensor &from = call->inputs[0], &to = call->outputs[0];
    copy_strided({to.data, 0, contiguous_strides(sizes)}, {from.data, offset, strides}, sizes,
                 element_bytes(to.type));
  };
  return plan;
}

// Saturates from float to integer; integers wrap (see convert.h).
Plan plan_cast(const std::shared_ptr<const Call>& call) {
  const int64_t target = call->attributes.integer("dst_type", call->output(0).type);
  if (target != call->output(0).type)
    throw InvalidCall("dst_type " + std::to_string(target) + " is not the output's type");
  if (call->input(0).count() != call->output(0).count())
    throw InvalidCall("input and output have different sizes", ACL_ERROR_OP_OUTPUT_NOT_MATCH);
  Plan plan;
  plan.keeps_zero = true;
  plan.compute = [call] {
    const Tensor &in = call->inputs[0], &out = call->outputs[0];
    with_arithmetic(arithmetic_of(in.type), [&](auto zero) {
      decltype(zero) block[kBlock];
      for (int64_t at = 0; at < in.count(); at += kBlock) {
        const int64_t n = std::min(kBlock, in.count() - at);
        load(in.type, in.data, at, n, block);
        store(out.type, out.data, at, n, block);
      }
    });
  };
  return plan;
}

Plan plan_identity(const std::shared_ptr<const Call>& call) {
  if (call->input(0).count() != call->output(0).count())
    throw InvalidCall("input and output have different sizes", ACL_ERROR_OP_OUTPUT_NOT_MATCH);
  return gather_strided(call, 0, call->output(0).shape, contiguous_strides(call->output(0).shape));
}

// (x, permutation)
Plan plan_transpose(const std::shared_ptr<const Call>& call) {
  const Shape& shape = call->input(0).shape;
  const auto order = integers_of(call->input(1));
  check_length(order, shape.size(), "the permutation");
  const Shape own = contiguous_strides(shape);
  Shape strides, expected;
  for (int64_t axis : order) {
    const auto d = static_cast<size_t>(normal_axis(axis, shape.size()));
    strides.push_back(own[d]);
    expected.push_back(shape[d]);
  }
  check_output_shape(*call, expected);
  return gather_strided(call, 0, expected, strides);
}

// (x, sizes, strides, offset)
Plan plan_as_strided(const std::shared_ptr<const Call>& call) {
  const auto sizes = integers_of(call->input(1)), strides = integers_of(call->input(2));
  check_length(strides, sizes.size(), "the strides");
  check_output_shape(*call, sizes);
  return gather_strided(call, call->inputs.size() > 3 ? integer_of(call->input(3)) : 0, sizes, strides);
}

// (x, offsets, sizes); a size of -1 reaches to the end.
Plan plan_slice(const std::shared_ptr<const Call>& call) {
  const Shape& shape = call->input(0).shape;
  const auto offsets = integers_of(call->input(1));
  auto sizes = integers_of(call->input(2));
  check_length(offsets, shape.size(), "the offsets");
  check_length(sizes, shape.size(), "the sizes");
  const Shape strides = contiguous_strides(shape);
  int64_t offset = 0;
  for (size_t d = 0; d < shape.size(); d++) {
    if (sizes[d] == -1) sizes[d] = shape[d] - offsets[d];
    if (offsets[d] < 0 || sizes[d] < 0 || offsets[d] + sizes[d] > shape[d])
      throw InvalidCall("slice of " + std::to_string(sizes[d]) + " from " + std::to_string(offsets[d]) +
                        " lies outside dimension " + std::to_string(d) + " of " + text_of(shape));
    offset += offsets[d] * strides[d];
  }
  // torch_npu may leave out dimensions of one element.
  if (count_of(sizes) != call->output(0).count()) check_output_shape(*call, sizes);
  return gather_strided(call, offset, sizes, strides);
}

// (x, begin, end, stride of each dimension); of a dimension in shrink_axis_mask the element at `begin` alone
// is taken, and the dimension goes
Plan plan_strided_slice(const std::shared_ptr<const Call>& call) {
  const Shape& shape = call->input(0).shape;
  for (const char* mask : {"begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask"})
    if (call->attributes.integer(mask, 0) != 0) throw InvalidCall(std::string(mask) + " is not supported");
  const auto begin = integers_of(call->input(1)), end = integers_of(call->input(2)),
             by = integers_of(call->input(3));
  for (const auto* values : {&begin, &end, &by}) check_length(*values, shape.size(), "a bound or stride");
  const int64_t shrunk = call->attributes.integer("shrink_axis_mask", 0);
  const Shape steps = contiguous_strides(shape);
  Shape strides, sizes;
  int64_t offset = 0;
  for (size_t d = 0; d < shape.size(); d++) {
    if (by[d] < 1) throw InvalidCall("strides must be positive");
    const int64_t last = std::min(end[d] < 0 ? end[d] + shape[d] : end[d], shape[d]);
    const int64_t first = begin[d] < 0 ? begin[d] + shape[d] : begin[d];
    offset += first * steps[d];
    if (shrunk >> d & 1) {
      if (first < 0 || first >= shape[d])
        throw InvalidCall("element " + std::to_string(begin[d]) + " lies outside dimension " +
                          std::to_string(d) + " of " + text_of(shape));
      continue;
    }
    sizes.push_back(std::max<int64_t>(0, (last - first + by[d] - 1) / by[d]));
    strides.push_back(steps[d] * by[d]);
  }
  check_output_shape(*call, sizes);
  return gather_strided(call, offset, sizes, strides);
}

// (x, shape)
Plan plan_broadcast(const std::shared_ptr<const Call>& call) {
  check_output_shape(*call, integers_of(call->input(1)));
  const Shape& shape = call->output(0).shape;
  return gather_strided(call, 0, shape, broadcast_strides(call->input(0).shape, shape));
}

// (x, repeats per dimension)
Plan plan_tile(const std::shared_ptr<const Call>& call) {
  const auto repeats = integers_of(call->input(1));
  Shape shape = call->input(0).shape;
  if (repeats.size() < shape.size()) throw InvalidCall("fewer repeats than dimensions");
  shape.insert(shape.begin(), repeats.size() - shape.size(), 1);
  // Dimension d of the output is a pair: which copy, and the place in it.
  Shape sizes, from, to;
  const Shape source = contiguous_strides(shape), target = contiguous_strides(call->output(0).shape);
  Shape expected;
  for (size_t d = 0; d < shape.size(); d++) expected.push_back(shape[d] * repeats[d]);
  check_output_shape(*call, expected);
  check_same_type(call->input(0), call->output(0));
  for (size_t d = 0; d < shape.size(); d++) {
    sizes.insert(sizes.end(), {repeats[d], shape[d]});
    from.insert(from.end(), {0, source[d]});
    to.insert(to.end(), {target[d] * shape[d], target[d]});
  }
  Plan plan;
  plan.keeps_zero = true;
  plan.compute = [call, sizes, from, to] {
    copy_strided({call->outputs[0].data, 0, to}, {call->inputs[0].data, 0, from}, sizes,
                 element_bytes(call->outputs[0].type));
  };
  return plan;
}

// (x, axes): reversed along these axes.
Plan plan_reverse(const std::shared_ptr<const Call>& call) {
  const Shape& shape = call->input(0).shape;
  check_output_shape(*call, shape);
  Shape strides = contiguous_strides(shape);
  int64_t offset = 0;
  for (int64_t axis : integers_of(call->input(1))) {
    const auto d = static_cast<size_t>(normal_axis(axis, shape.size()));
    if (strides.empty() || shape[d] == 0) continue;
    offset += (shape[d] - 1) * strides[d];
    strides[d] = -strides[d];
  }
  return gather_strided(call, offset, shape, strides);
}

// The inputs one after the other along an existing axis, or along a new one.
Plan join(const std::shared_ptr<const Call>& call, const std::vector<Shape>& shapes, int64_t axis) {
  Shape expected = shapes.at(0);
  expected[axis] = 0;
  for (const Shape& shape : shapes) {
    Shape rest = shape;
    rest[axis] = expected[axis];
    if (rest != expected)
      throw InvalidCall("shapes " + text_of(shapes[0]) + " and " + text_of(shape) + " cannot be joined");
    expected[axis] += shape[axis];
  }
  if (count_of(expected) != call->output(0).count()) check_output_shape(*call, expected);
  for (const Tensor& in : call->inputs) check_same_type(in, call->output(0));
  Plan plan;
  plan.keeps_zero = true;
  plan.compute = [call, shapes, expected, axis] {
    const Tensor& out = call->outputs[0];
    const Shape strides = contiguous_strides(expected);
    int64_t offset = 0;
    for (size_t k = 0; k < shapes.size(); k++) {
      copy_strided({out.data, offset, strides}, {call->inputs[k].data, 0, contiguous_strides(shapes[k])},
                   shapes[k], element_bytes(out.type));
      offset += shapes[k][axis] * strides[axis];
    }
  };
  return plan;
}

Plan plan_concat(const std::shared_ptr<const Call>& call) {
  if (call->inputs.empty() && call->output(0).count() == 0) {  // torch_npu leaves out empty inputs
    Plan nothing;
    nothing.compute = [] {};
    return nothing;
  }
  std::vector<Shape> shapes;
  for (const Tensor& in : call->inputs) shapes.push_back(in.shape);
  const int64_t axis = normal_axis(call->attributes.integer("concat_dim", 0), call->input(0).shape.size());
  for (const Shape& shape : shapes)
    if (shape.size() != shapes[0].size() || shape.empty())
      throw InvalidCall("inputs of different ranks cannot be joined", ACL_ERROR_OP_INPUT_NOT_MATCH);
  return join(call, shapes, axis);
}

Plan plan_pack(const std::shared_ptr<const Call>& call) {
  const int64_t axis = normal_axis(call->attributes.integer("axis", 0), call->input(0).shape.size() + 1);
  std::vector<Shape> shapes;
  for (const Tensor& in : call->inputs) {
    if (in.shape != call->input(0).shape)
      throw InvalidCall("inputs of different shapes cannot be stacked", ACL_ERROR_OP_INPUT_NOT_MATCH);
    shapes.push_back(in.shape);
    shapes.back().insert(shapes.back().begin() + axis, 1);
  }
  return join(call, shapes, axis);
}

// (x, sizes, strides, offset, source, sizes, strides, offset): writes the source into a strided part of x,
// which is the output as well.
Plan plan_view_copy(const std::shared_ptr<const Call>& call) {
  const auto sizes = integers_of(call->input(1)), strides = integers_of(call->input(2));
  const int64_t offset = integer_of(call->input(3));
  const Tensor &target = call->input(0), &source = call->input(4);
  const auto source_sizes = integers_of(call->input(5));
  const auto own_strides = integers_of(call->input(6));
  const int64_t source_offset = integer_of(call->input(7));
  check_length(strides, sizes.size(), "the strides");
  check_length(own_strides, source_sizes.size(), "the strides of the source");
  check_same_type(source, target);
  check_same_type(target, call->output(0));
  check_broadcast(source_sizes, sizes);
  Shape source_strides(sizes.size(), 0);
  for (size_t k = 1; k <= source_sizes.size(); k++)
    if (source_sizes[source_sizes.size() - k] != 1)
      source_strides[sizes.size() - k] = own_strides[source_sizes.size() - k];
  const auto width = static_cast<int64_t>(element_bytes(target.type));
  for (const auto& [array, bytes] :
       {std::pair{Strided{nullptr, offset, strides}, target.buffer_bytes},
        std::pair{Strided{nullptr, source_offset, source_strides}, source.buffer_bytes}})
    if (!inside(array, sizes, static_cast<int64_t>(bytes) / width))
      throw InvalidCall("sizes " + text_of(sizes) + ", strides " + text_of(array.strides) + " and offset " +
                        std::to_string(array.offset) + " reach outside the buffer of " +
                        std::to_string(bytes) + " bytes");
  Plan plan;
  plan.compute = [call, sizes, strides, offset, source_strides, source_offset, width] {
    copy_strided({call->inputs[0].data, offset, strides},
                 {call->inputs[4].data, source_offset, source_strides}, sizes, static_cast<size_t>(width));
  };
  return plan;
}

}  // namespace

void add_layout(Registry& r) {
  r.add("Cast", plan_cast);
  r.add("Identity", plan_identity);
  r.add("Transpose", plan_transpose);
  r.add("AsStrided", plan_as_strided);
  r.add("Slice", plan_slice);
  r.add("StridedSlice", plan_strided_slice);
  r.add("BroadcastTo", plan_broadcast);
  r.add("Tile", plan_tile);
  r.add("ReverseV2", plan_reverse);
  r.add("ConcatD", plan_concat);
  r.add("Pack", plan_pack);
  r.add("ViewCopy", plan_view_copy);
}

}  // namespace cann_sim::ops
