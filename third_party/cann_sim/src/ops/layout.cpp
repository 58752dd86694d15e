// Operators that move or convert elements: their place in the output depends on shapes only.
#include "ops/axes.h"
#include "ops/map.h"
#include "ops/registry.h"
#include "ops/strided.h"

namespace cann_sim::ops {
namespace {

void check_same_type(const Tensor& a, const Tensor& b) {
  if (a.type != b.type)
    throw InvalidCall(std::string("input and output have different types: ") + type_name(a.type) + " and " +
                          type_name(b.type),
                      ACL_ERROR_OP_INPUT_NOT_MATCH);
}
void check_output_shape(const Call& call, const Shape& expected) {
  if (call.output(0).shape != expected)
    throw InvalidCall(
        "output shape " + text_of(call.output(0).shape) + ", but " + text_of(expected) + " is expected",
        ACL_ERROR_OP_OUTPUT_NOT_MATCH);
}
void check_length(const std::vector<int64_t>& values, size_t length, const char* what) {
  if (values.size() != length)
    throw InvalidCall(std::string(what) + " has " + std::to_string(values.size()) + " values, but " +
                      std::to_string(length) + " are expected");
}

// output[i, j, ...] = input[offset + i * strides[0] + j * strides[1] + ...], for the output's shape.
Plan gather_strided(const std::shared_ptr<const Call>& call, int64_t offset, Shape strides) {
  const Tensor &in = call->input(0), &out = call->output(0);
  check_same_type(in, out);
  const auto available = static_cast<int64_t>(in.buffer_bytes / element_bytes(in.type));
  if (!inside({in.data, offset, strides}, out.shape, available))
    throw InvalidCall("sizes " + text_of(out.shape) + ", strides " + text_of(strides) + " and offset " +
                      std::to_string(offset) + " reach outside the input's " + std::to_string(available) +
                      " elements");
  Plan plan;
  plan.keeps_zero = true;
  plan.compute = [call, offset, strides] {
    const Tensor &from = call->inputs[0], &to = call->outputs[0];
    copy_strided({to.data, 0, contiguous_strides(to.shape)}, {from.data, offset, strides}, to.shape,
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
  return gather_strided(call, 0, contiguous_strides(call->output(0).shape));
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
  return gather_strided(call, 0, strides);
}

// (x, sizes, strides, offset)
Plan plan_as_strided(const std::shared_ptr<const Call>& call) {
  const auto sizes = integers_of(call->input(1)), strides = integers_of(call->input(2));
  check_length(strides, sizes.size(), "the strides");
  check_output_shape(*call, sizes);
  return gather_strided(call, call->inputs.size() > 3 ? integer_of(call->input(3)) : 0, strides);
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
  check_output_shape(*call, sizes);
  return gather_strided(call, offset, strides);
}

// (x, shape)
Plan plan_broadcast(const std::shared_ptr<const Call>& call) {
  check_output_shape(*call, integers_of(call->input(1)));
  return gather_strided(call, 0, broadcast_strides(call->input(0).shape, call->output(0).shape));
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
  return gather_strided(call, offset, strides);
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

void add_layout(Registry& r) {
  r.add("Cast", plan_cast);
  r.add("Identity", plan_identity);
  r.add("Transpose", plan_transpose);
  r.add("AsStrided", plan_as_strided);
  r.add("Slice", plan_slice);
  r.add("BroadcastTo", plan_broadcast);
  r.add("Tile", plan_tile);
  r.add("ReverseV2", plan_reverse);
  r.add("ConcatD", plan_concat);
  r.add("Pack", plan_pack);
  r.add("ViewCopy", plan_view_copy);
  r.add("Tril", plan_triangle<true>);
  r.add("Triu", plan_triangle<false>);
}

}  // namespace cann_sim::ops
