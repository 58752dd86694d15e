// Lowering of scalar operations, and the table of all handlers.
#include "hivm/cost_model.h"
#include "hivm/lowering.h"
#include "hivm/scalar.h"
#include "hivm/text.h"

namespace hivm {
namespace {

std::string quoted(std::string_view text) { return "'" + shown(text) + "'"; }

std::string_view without_dialect(std::string_view name) { return name.substr(name.find('.') + 1); }

int integer_cycles(std::string_view name) {
  if (name.substr(0, 3) == "div" || name.substr(0, 3) == "rem") return cost::kScalarDivideCycles;
  return name == "muli" ? cost::kScalarMultiplyCycles : cost::kScalarCycles;
}

Instruction two_operands(const ir::Op& op, Step step, int cycles, const Value& a, const Value& b,
                         uint32_t to) {
  Instruction i;
  i.step = step;
  i.cycles = cycles;
  i.line = op.line;
  i.a = a.slot;
  i.b = b.slot;
  i.d = to;
  return i;
}

Step wrap_step(Element e) {
  switch (e) {
    case Element::I32:
      return step::wrap_i32;
    case Element::I16:
      return step::wrap_i16;
    case Element::I8:
      return step::wrap_i8;
    case Element::I1:
      return step::wrap_i1;
    default:
      return nullptr;
  }
}

}  // namespace

void Lowering::arith_constant(const ir::Op& op) {
  const ir::Type& type = op.types[0];
  Scalar scalar;
  if (is_float(type.element))
    scalar.f = op.real;
  else
    scalar.i = wrap_to(type.element, op.integer);
  define_result(op, constant(type.element, scalar));
}

void Lowering::arith_binary(const ir::Op& op) {
  const Value a = scalar(op, 0), b = scalar(op, 1);
  check_same(op, a, b);
  const std::string_view name = without_dialect(op.name);
  const bool real = is_float(a.element);
  const Step step = real ? float_binary(name, a.element) : integer_binary(name, a.element);
  if (!step) fail(op.line, "operation " + quoted(op.name) + " is not supported for this type");
  const int cycles =
      real ? (name == "divf" ? cost::kScalarDivideCycles : cost::kScalarFloatCycles) : integer_cycles(name);
  Value result = scalar_result(a.element);
  result.constant = emit_pure(two_operands(op, step, cycles, a, b, result.slot), a.constant && b.constant);
  define_result(op, result);
}

void Lowering::arith_compare(const ir::Op& op) {
  const Value a = scalar(op, 0), b = scalar(op, 1);
  check_same(op, a, b);
  const Step step = op.name == "arith.cmpf" ? float_compare(op.word) : integer_compare(op.word, a.element);
  if (!step || is_float(a.element) != (op.name == "arith.cmpf")) {
    fail(op.line, "operation " + quoted(op.name) + " " + quoted(op.word) + " is not supported for this type");
  }
  Value result = scalar_result(Element::I1);
  result.constant =
      emit_pure(two_operands(op, step, cost::kScalarCycles, a, b, result.slot), a.constant && b.constant);
  define_result(op, result);
}

void Lowering::arith_select(const ir::Op& op) {
  const Value condition = integer(op.line, scalar(op, 0));
  const Value a = lookup(op.line, op.operands[1].name), b = lookup(op.line, op.operands[2].name);
  check_same(op, a, b);
  Value result = slot_like(a);
  Instruction i;
  i.step = a.is_view ? step::select_view : step::select;
  i.cycles = cost::kScalarCycles;
  i.line = op.line;
  i.a = condition.slot;
  i.b = a.slot;
  i.c = b.slot;
  i.d = result.slot;
  result.constant = emit_pure(i, condition.constant && a.constant && b.constant);
  define_result(op, result);
}

void Lowering::arith_convert(const ir::Op& op) {
  const Value from = scalar(op, 0);
  const ir::Type& type = op.types[1];
  if (type.kind != ir::Type::Kind::Scalar) fail(op.line, quoted(op.name) + " to a type that is no scalar");
  const Element to = type.element;
  const std::string_view name = without_dialect(op.name);
  Instruction i;
  i.line = op.line;
  i.a = from.slot;
  i.cycles = cost::kScalarCycles;
  if (is_float(from.element) || is_float(to)) {
    i.cycles = cost::kScalarFloatCycles;
    if (is_float(from.element) && is_float(to))
      i.step = float_to_float(to);
    else if (is_float(to) && (name == "sitofp" || name == "uitofp"))
      i.step = integer_to_float(to);
    else if (is_float(from.element) && name == "fptosi")
      i.step = float_to_integer(to);
    if (name == "uitofp" && from.element == Element::I64) i.step = nullptr;
  } else if (name == "extui" || name == "index_castui") {
    if (bits_of(to) < bits_of(from.element))
      i.step = wrap_step(to);
    else if (from.element != Element::I64 && from.element != Element::I1) {
      i.step = step::mask;
      i.extra = static_cast<int64_t>((1ull << bits_of(from.element)) - 1);
    }
  } else if (bits_of(to) < bits_of(from.element)) {
    i.step = wrap_step(to);
  } else if (from.element == Element::I1 && to != Element::I1) {
    i.step = step::sign_of_bit;
  }
  Value result = from;
  result.element = to;
  const bool same = !is_float(from.element) && !is_float(to) && !i.step;
  if (!i.step && !same) fail(op.line, "operation " + quoted(op.name) + " is not supported for these types");
  if (i.step) {
    // uitofp of a bool: it is held as 0 or 1, other integers with their sign. sitofp of a bool: -1.
    Value source = from;
    if (name == "uitofp" && from.element != Element::I1) {
      source = scalar_result(Element::I64);
      Instruction mask = two_operands(op, step::mask, cost::kScalarCycles, from, from, source.slot);
      mask.extra = static_cast<int64_t>((1ull << bits_of(from.element)) - 1);
      source.constant = emit_pure(mask, from.constant);
    }
    if (name == "sitofp" && from.element == Element::I1) {
      source = scalar_result(Element::I64);
      source.constant = emit_pure(
          two_operands(op, step::sign_of_bit, cost::kScalarCycles, from, from, source.slot), from.constant);
    }
    i.a = source.slot;
    result = scalar_result(to);
    i.d = result.slot;
    result.constant = emit_pure(i, source.constant);
  }
  define_result(op, result);
}

void Lowering::arith_unary(const ir::Op& op) {
  const Value a = scalar(op, 0);
  const std::string_view name = without_dialect(op.name);
  const Step step = float_unary(name, a.element);
  if (!step) fail(op.line, "operation " + quoted(op.name) + " is not supported for this type");
  const bool simple = name == "absf" || name == "negf";
  Value result = scalar_result(a.element);
  result.constant =
      emit_pure(two_operands(op, step, simple ? cost::kScalarFloatCycles : cost::kScalarDivideCycles, a, a,
                             result.slot),
                a.constant);
  define_result(op, result);
}

void Lowering::arith_multiply_extended(const ir::Op& op) {
  const Value a = integer(op.line, scalar(op, 0)), b = integer(op.line, scalar(op, 1));
  check_same(op, a, b);
  if (a.element != Element::I32 && a.element != Element::I64) {
    fail(op.line, "operation " + quoted(op.name) + " is not supported for this type");
  }
  Value low = scalar_result(a.element), high = scalar_result(a.element);
  const Step step = a.element == Element::I32 ? step::multiply_extended : step::multiply_extended64;
  Instruction i = two_operands(op, step, cost::kScalarMultiplyCycles, a, b, high.slot);
  i.c = low.slot;
  i.extra = op.name == "arith.mului_extended";
  low.constant = high.constant = emit_pure(i, a.constant && b.constant);
  define_results(op, {low, high});
}

Value Lowering::affine_node(const ir::Op& op, const ir::AffineMap& map, int node,
                            const std::vector<Value>& dimensions, const std::vector<Value>& symbols) {
  using Kind = ir::AffineNode::Kind;
  const ir::AffineNode& n = map.nodes[node];
  switch (n.kind) {
    case Kind::Constant:
      return literal(n.value);
    case Kind::Dimension:
      return dimensions[n.value];
    case Kind::Symbol:
      return symbols[n.value];
    default:
      break;
  }
  const Value a = affine_node(op, map, n.left, dimensions, symbols);
  const Value b = affine_node(op, map, n.right, dimensions, symbols);
  Step step = nullptr;
  int cycles = cost::kScalarDivideCycles;
  // Division by a constant is a shift or a multiplication in the code that a compiler makes.
  if (b.constant) cycles = cost::kScalarMultiplyCycles;
  switch (n.kind) {
    case Kind::Add:
      step = integer_binary("addi", Element::I64);
      cycles = cost::kScalarCycles;
      break;
    case Kind::Multiply:
      step = integer_binary("muli", Element::I64);
      cycles = cost::kScalarMultiplyCycles;
      break;
    case Kind::Mod:
      step = step::floor_mod;
      break;
    case Kind::FloorDiv:
      step = step::floor_divide;
      break;
    default:
      step = step::ceil_divide;
      break;
  }
  Value result = scalar_result(Element::I64);
  result.constant = emit_pure(two_operands(op, step, cycles, a, b, result.slot), a.constant && b.constant);
  return result;
}

void Lowering::affine(const ir::Op& op) {
  const auto found = module_.maps.find(op.word);
  if (found == module_.maps.end()) fail(op.line, "affine map " + quoted(op.word) + " is not defined");
  const ir::AffineMap& map = found->second;
  std::vector<Value> given[2];
  for (int k = 0; k < 2; k++) {
    for (const ir::Operand& o : op.lists[k]) given[k].push_back(operand(op, o));
  }
  if (static_cast<int>(given[0].size()) != map.dimensions ||
      static_cast<int>(given[1].size()) != map.symbols) {
    fail(op.line, "affine map " + quoted(op.word) + " is given another number of values than it takes");
  }
  if (op.name == "affine.apply" && map.results.size() != 1)
    fail(op.line, "'affine.apply' needs a map with one result");
  Value result = affine_node(op, map, map.results[0], given[0], given[1]);
  const Step pick = integer_binary(op.name == "affine.min" ? "minsi" : "maxsi", Element::I64);
  for (size_t i = 1; i < map.results.size(); i++) {
    const Value next = affine_node(op, map, map.results[i], given[0], given[1]);
    Value both = scalar_result(Element::I64);
    both.constant = emit_pure(two_operands(op, pick, cost::kScalarCycles, result, next, both.slot),
                              result.constant && next.constant);
    result = both;
  }
  result.element = Element::I64;
  define_result(op, result);
}

const std::unordered_map<std::string_view, Lowering::Handler>& Lowering::handlers() {
  using L = Lowering;
  static const std::unordered_map<std::string_view, Handler> kHandlers = [] {
    std::unordered_map<std::string_view, Handler> table = {
        {"arith.constant", &L::arith_constant},
        {"arith.select", &L::arith_select},
        {"arith.cmpi", &L::arith_compare},
        {"arith.cmpf", &L::arith_compare},
        {"arith.mulsi_extended", &L::arith_multiply_extended},
        {"arith.mului_extended", &L::arith_multiply_extended},
        {"affine.apply", &L::affine},
        {"affine.min", &L::affine},
        {"affine.max", &L::affine},
        {"memref.cast", &L::memref_cast},
        {"memref.reinterpret_cast", &L::reinterpret_cast_view},
        {"memref.subview", &L::subview},
        {"memref.collapse_shape", &L::collapse_shape},
        {"memref.expand_shape", &L::expand_shape},
        {"memref.view", &L::typed_view},
        {"memref.extract_strided_metadata", &L::metadata},
        {"memref.extract_aligned_pointer_as_index", &L::aligned_pointer},
        {"memref.dim", &L::dimension_size},
        {"memref.load", &L::load},
        {"memref.store", &L::store},
        {"scf.for", &L::for_loop},
        {"scf.if", &L::if_else},
        {"scf.while", &L::while_loop},
        {"call", &L::call},
        {"func.call", &L::call},
        {"hivm.hir.bitcast", &L::bitcast},
        {"hivm.hir.pointer_cast", &L::pointer_cast},
        {"hivm.hir.get_block_idx", &L::block_index},
        {"hivm.hir.get_sub_block_idx", &L::sub_block_index},
        {"hivm.hir.set_flag", &L::flag},
        {"hivm.hir.wait_flag", &L::flag},
        {"hivm.hir.pipe_barrier", &L::barrier},
        {"hivm.hir.sync_block_set", &L::block_flag},
        {"hivm.hir.sync_block_wait", &L::block_flag},
        {"hivm.hir.set_mask_norm", &L::nothing},
        {"llvm.intr.assume", &L::nothing},
        {"hivm.hir.set_ffts_base_addr", &L::nothing},
        {"llvm.mlir.constant", &L::text_length},
        {"llvm.mlir.addressof", &L::text_address},
        {"llvm.getelementptr", &L::text_pointer},
    };
    for (const std::string_view name :
         {"arith.addi",  "arith.subi",     "arith.muli",     "arith.divsi",   "arith.remsi",
          "arith.divui", "arith.remui",    "arith.andi",     "arith.ori",     "arith.xori",
          "arith.shli",  "arith.shrsi",    "arith.shrui",    "arith.maxsi",   "arith.minsi",
          "arith.maxui", "arith.minui",    "arith.addf",     "arith.subf",    "arith.mulf",
          "arith.divf",  "arith.maximumf", "arith.minimumf", "arith.maxnumf", "arith.minnumf"}) {
      table[name] = &L::arith_binary;
    }
    for (const std::string_view name : {"math.sqrt", "math.absf", "math.exp", "math.log", "arith.negf"}) {
      table[name] = &L::arith_unary;
    }
    for (const std::string_view name :
         {"arith.index_cast", "arith.index_castui", "arith.trunci", "arith.extsi", "arith.extui",
          "arith.sitofp", "arith.uitofp", "arith.fptosi", "arith.truncf", "arith.extf"}) {
      table[name] = &L::arith_convert;
    }
    return table;
  }();
  return kHandlers;
}

}  // namespace hivm
