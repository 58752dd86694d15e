// Lowering of operations that make views, and of loads and stores of single elements.
#include <algorithm>

#include "hivm/cost_model.h"
#include "hivm/lowering.h"
#include "hivm/text.h"
#include "hivm/view_check.h"

namespace hivm {
namespace {

std::string quoted(std::string_view text) { return "'" + shown(text) + "'"; }

// Address arithmetic per dimension that is not known beforehand.
int view_cycles(size_t dimensions) { return static_cast<int>(dimensions) * cost::kScalarCycles; }

// The dimensions that stay when memref.subview drops unit dimensions. `sizes`: of the subview, `shape`: of
// the result type.
bool kept_dimensions(const std::vector<ir::Operand>& sizes, const std::vector<int64_t>& shape,
                     ViewRecipe& recipe) {
  size_t drop = sizes.size() - shape.size(), next = 0;
  recipe.kept = 0;
  for (size_t d = 0; d < sizes.size(); d++) {
    const bool unit = sizes[d].name.empty() && sizes[d].literal == 1;
    if (drop && unit && !(next < shape.size() && shape[next] == 1)) {
      drop--;
      continue;
    }
    if (recipe.kept == shape.size()) return false;
    recipe.dimensions[recipe.kept++] = static_cast<uint8_t>(d);
    next++;
  }
  return drop == 0;
}

}  // namespace

void Lowering::slots(const ir::Op& op, const std::vector<ir::Operand>& list, Slots& into, bool& constant) {
  if (list.size() > kMaxRank) {
    fail(op.line,
         quoted(op.name) + " with more than " + std::to_string(kMaxRank) + " dimensions is not supported");
  }
  for (size_t i = 0; i < list.size(); i++) {
    const Value value = operand(op, list[i]);
    into[i] = value.slot;
    constant = constant && value.constant;
  }
}

void Lowering::define_view(const ir::Op& op, Step step, uint32_t source, const ViewRecipe& recipe,
                           Value result, bool constant) {
  result.is_view = true;
  result.slot = new_view();
  Instruction i;
  i.step = step;
  i.cycles = view_cycles(recipe.rank);
  i.line = op.line;
  i.a = source;
  i.d = result.slot;
  i.extra = static_cast<int64_t>(code_.recipes.size());
  code_.recipes.push_back(recipe);
  result.constant = emit_pure(i, constant);
  if (result.constant && result.space != Space::Gm) code_.local_views.push_back(result.slot);
  define_result(op, result);
}

void Lowering::pointer_cast(const ir::Op& op) {
  const Value address = integer(op.line, scalar(op, 0));
  const ir::Type& type = op.types[0];
  if (type.kind != ir::Type::Kind::MemRef) fail(op.line, "'hivm.hir.pointer_cast' to anything but a memref");
  ViewRecipe recipe;
  recipe.rank = static_cast<uint8_t>(type.shape.size());
  recipe.element = type.element;
  recipe.space = type.space;
  recipe.kept = type.has_strides;  // strides are given, not row-major
  bool constant = address.constant;
  size_t next = 0;
  std::vector<ir::Operand> sizes, strides;
  for (const int64_t size : type.shape) {
    if (size != ir::kDynamic)
      sizes.push_back({{}, size});
    else if (next < op.lists[0].size())
      sizes.push_back(op.lists[0][next++]);
    else
      fail(op.line, "'hivm.hir.pointer_cast' lacks a size");
  }
  for (const int64_t stride : type.strides) {
    if (stride == ir::kDynamic)
      fail(op.line, "'hivm.hir.pointer_cast' with an unknown stride is not supported");
    strides.push_back({{}, stride});
  }
  slots(op, sizes, recipe.sizes, constant);
  slots(op, strides, recipe.strides, constant);
  const bool global = type.space == Space::Gm;  // the address is a number that the kernel was given or loaded
  if (!global && (type.space == Space::Ub) != (code_.core == CoreKind::Vector)) {
    fail(op.line, quoted(op.name) + " to '" + space_name(type.space) + "', which this kind of core lacks");
  }
  Value result;
  result.element = type.element;
  result.space = type.space;
  result.rank = recipe.rank;
  define_view(op, step::pointer_cast, address.slot, recipe, result, constant);
  if (global) return;
  int64_t end = capacity_of(type.space);
  if (const Value made = lookup(op.line, op.results[0]);
      made.constant && is_sane(constants_.views[made.slot])) {
    end = std::min<int64_t>(end, reinterpret_cast<int64_t>(extent_of(constants_.views[made.slot]).end));
  }
  int64_t& used = code_.local_bytes[static_cast<size_t>(type.space)];
  used = std::max(used, end);
}

void Lowering::memref_cast(const ir::Op& op) { define_result(op, view(op, 0)); }

void Lowering::reinterpret_cast_view(const ir::Op& op) {
  const Value source = view(op, 0);
  if (op.lists[0].size() != 1 || op.lists[1].size() != op.lists[2].size()) {
    fail(op.line, "'memref.reinterpret_cast' with other strides than sizes");
  }
  ViewRecipe recipe;
  bool constant = source.constant;
  slots(op, op.lists[0], recipe.offsets, constant);
  slots(op, op.lists[1], recipe.sizes, constant);
  slots(op, op.lists[2], recipe.strides, constant);
  recipe.rank = static_cast<uint8_t>(op.lists[1].size());
  Value result = source;
  result.rank = recipe.rank;
  define_view(op, step::reinterpret_cast_view, source.slot, recipe, result, constant);
}

void Lowering::subview(const ir::Op& op) {
  const Value source = view(op, 0);
  const std::vector<ir::Operand>& sizes = op.lists[1];
  const std::vector<int64_t>& shape = op.types[1].shape;
  if (op.lists[0].size() != source.rank || sizes.size() != source.rank || op.lists[2].size() != source.rank) {
    fail(op.line,
         "'memref.subview' of a memref with " + std::to_string(source.rank) + " dimensions with other lists");
  }
  ViewRecipe recipe;
  bool constant = source.constant;
  slots(op, op.lists[0], recipe.offsets, constant);
  slots(op, sizes, recipe.sizes, constant);
  slots(op, op.lists[2], recipe.strides, constant);
  recipe.rank = source.rank;
  if (shape.size() > sizes.size() || !kept_dimensions(sizes, shape, recipe)) {
    fail(op.line, "'memref.subview' drops dimensions whose size is not 1");
  }
  Value result = source;
  result.rank = recipe.kept;
  define_view(op, step::subview, source.slot, recipe, result, constant);
}

void Lowering::collapse_shape(const ir::Op& op) {
  const Value source = view(op, 0);
  CollapseRecipe recipe;
  int64_t next = 0;
  for (const std::vector<int64_t>& group : op.groups) {
    for (const int64_t d : group) {
      if (d != next++) fail(op.line, "'memref.collapse_shape' with groups that are not in order");
    }
    if (group.empty() || next > source.rank)
      fail(op.line, "'memref.collapse_shape' with groups beyond the memref");
    recipe.ends[recipe.groups++] = static_cast<uint8_t>(next);
  }
  if (next != source.rank && !op.groups.empty())
    fail(op.line, "'memref.collapse_shape' leaves out dimensions");
  Value result = source;
  result.rank = recipe.groups;
  result.slot = new_view();
  Instruction i;
  i.step = step::collapse_shape;
  i.cycles = view_cycles(source.rank);
  i.line = op.line;
  i.a = source.slot;
  i.d = result.slot;
  i.extra = static_cast<int64_t>(code_.collapses.size());
  code_.collapses.push_back(recipe);
  result.constant = emit_pure(i, source.constant);
  if (result.constant && result.space != Space::Gm) code_.local_views.push_back(result.slot);
  define_result(op, result);
}

void Lowering::expand_shape(const ir::Op& op) {
  const Value source = view(op, 0);
  ViewRecipe recipe;
  bool constant = source.constant;
  slots(op, op.lists[0], recipe.sizes, constant);
  recipe.rank = static_cast<uint8_t>(op.lists[0].size());
  int64_t next = 0;
  if (op.groups.size() != source.rank)
    fail(op.line, "'memref.expand_shape' with another number of groups than dimensions");
  for (size_t g = 0; g < op.groups.size(); g++) {
    for (const int64_t d : op.groups[g]) {
      if (d != next || d >= recipe.rank)
        fail(op.line, "'memref.expand_shape' with groups that are not in order");
      recipe.dimensions[next++] = static_cast<uint8_t>(g);
    }
  }
  if (next != recipe.rank) fail(op.line, "'memref.expand_shape' leaves out dimensions");
  Value result = source;
  result.rank = recipe.rank;
  define_view(op, step::expand_shape, source.slot, recipe, result, constant);
}

void Lowering::typed_view(const ir::Op& op) {
  const Value source = view(op, 0);
  const ir::Type& type = op.types[1];
  if (source.element != Element::I8 || source.rank != 1 || type.kind != ir::Type::Kind::MemRef ||
      op.lists[0].size() != 1) {
    fail(op.line, "'memref.view' of anything but a row of i8 is not supported");
  }
  if (type.space != source.space || type.has_strides)
    fail(op.line, "'memref.view' changes the space or the layout");
  ViewRecipe recipe;
  bool constant = source.constant;
  std::vector<ir::Operand> sizes;
  size_t next = 0;
  for (const int64_t size : type.shape) {
    if (size != ir::kDynamic)
      sizes.push_back({{}, size});
    else if (next < op.lists[1].size())
      sizes.push_back(op.lists[1][next++]);
    else
      fail(op.line, "'memref.view' lacks a size");
  }
  slots(op, op.lists[0], recipe.offsets, constant);
  slots(op, sizes, recipe.sizes, constant);
  recipe.rank = static_cast<uint8_t>(sizes.size());
  recipe.element = type.element;
  Value result = source;
  result.element = type.element;
  result.rank = recipe.rank;
  define_view(op, step::typed_view, source.slot, recipe, result, constant);
}

void Lowering::bitcast(const ir::Op& op) {
  const Value source = view(op, 0);
  const ir::Type& type = op.types[1];
  if (type.kind != ir::Type::Kind::MemRef || bits_of(type.element) != bits_of(source.element)) {
    fail(op.line, "'hivm.hir.bitcast' to an element type of another width");
  }
  Value result = source;
  result.element = type.element;
  result.slot = new_view();
  Instruction i;
  i.step = step::bitcast;
  i.line = op.line;
  i.a = source.slot;
  i.d = result.slot;
  i.extra = static_cast<int64_t>(type.element);
  result.constant = emit_pure(i, source.constant);
  if (result.constant && result.space != Space::Gm) code_.local_views.push_back(result.slot);
  define_result(op, result);
}

// Results: base, offset, sizes, strides.
void Lowering::metadata(const ir::Op& op) {
  const Value source = view(op, 0);
  if (op.results.size() != 2 + 2 * size_t{source.rank}) {
    fail(op.line, "'memref.extract_strided_metadata' with a wrong number of results");
  }
  std::vector<Value> results;
  const auto add = [&](Step step, Value result, int64_t extra) {
    Instruction i;
    i.step = step;
    i.line = op.line;
    i.a = source.slot;
    i.d = result.slot;
    i.extra = extra;
    result.constant = emit_pure(i, source.constant);
    if (result.is_view && result.constant && result.space != Space::Gm)
      code_.local_views.push_back(result.slot);
    results.push_back(result);
  };
  Value base = source;
  base.rank = 0;
  base.slot = new_view();
  add(step::metadata_base, base, 0);
  add(step::metadata_number, scalar_result(Element::I64), 0);
  for (int d = 0; d < source.rank; d++) add(step::metadata_number, scalar_result(Element::I64), 1 + d);
  for (int d = 0; d < source.rank; d++) add(step::metadata_number, scalar_result(Element::I64), 100 + d);
  define_results(op, results);
}

// Where the buffer starts, as a number; the offset is not in it. Kernels ask whether a pointer is null.
void Lowering::aligned_pointer(const ir::Op& op) {
  const Value source = view(op, 0);
  if (source.space != Space::Gm)
    fail(op.line, quoted(op.name) + " of anything but global memory is not supported");
  const Value result = scalar_result(Element::I64);
  Instruction i;
  i.step = step::aligned_pointer;
  i.cycles = cost::kScalarCycles;
  i.line = op.line;
  i.a = source.slot;
  i.d = result.slot;
  emit(i);
  define_result(op, result);
}

void Lowering::dimension_size(const ir::Op& op) {
  const Value source = view(op, 0), dimension = integer(op.line, scalar(op, 1));
  Value result = scalar_result(Element::I64);
  Instruction i;
  i.step = step::dimension_size;
  i.cycles = cost::kScalarCycles;
  i.line = op.line;
  i.a = source.slot;
  i.b = dimension.slot;
  i.d = result.slot;
  result.constant = emit_pure(i, source.constant && dimension.constant);
  define_result(op, result);
}

void Lowering::load(const ir::Op& op) {
  const Value source = view(op, 0);
  if (op.lists[0].size() != source.rank)
    fail(op.line, "'memref.load' with another number of indices than dimensions");
  ViewRecipe recipe;
  bool constant = false;
  slots(op, op.lists[0], recipe.offsets, constant);
  recipe.rank = source.rank;
  const Value result = scalar_result(source.element);
  Instruction i;
  i.step = is_float(source.element)        ? step::load_float
           : source.element == Element::I1 ? step::load_bit
                                           : step::load_integer;
  i.cycles = source.space == Space::Gm ? 0 : cost::kScalarUbCycles;
  i.line = op.line;
  i.a = source.slot;
  i.d = result.slot;
  i.extra = static_cast<int64_t>(code_.recipes.size());
  code_.recipes.push_back(recipe);
  emit(i);
  define_result(op, result);
}

void Lowering::store(const ir::Op& op) {
  const Value value = scalar(op, 0);
  const Value target = view(op, 1);
  if (op.lists[0].size() != target.rank)
    fail(op.line, "'memref.store' with another number of indices than dimensions");
  if (value.element != target.element)
    fail(op.line, "'memref.store' of a value of another type than the memref's");
  if (!op.results.empty()) fail(op.line, "'memref.store' has no results");
  ViewRecipe recipe;
  bool constant = false;
  slots(op, op.lists[0], recipe.offsets, constant);
  recipe.rank = target.rank;
  Instruction i;
  i.step = is_float(target.element)        ? step::store_float
           : target.element == Element::I1 ? step::store_bit
                                           : step::store_integer;
  i.cycles = target.space == Space::Gm ? 0 : cost::kScalarUbCycles;
  i.line = op.line;
  i.a = target.slot;
  i.d = value.slot;
  i.extra = static_cast<int64_t>(code_.recipes.size());
  code_.recipes.push_back(recipe);
  emit(i);
}

}  // namespace hivm
