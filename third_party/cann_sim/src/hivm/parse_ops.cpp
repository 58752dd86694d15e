// The printed form of every operation: those of values here, the others in parse_views.cpp and
// parse_control.cpp. An operation that is in none of their tables is not supported.
#include <cstdlib>

#include "hivm/parse_form.h"
#include "hivm/scalar.h"

namespace hivm {
namespace {

// true | false | 5 : i32 | 1.0e+00 : f32 | 0xFF800000 : f32
bool constant(Op& op, Cursor& c) {
  const bool is_true = c.accept("true");
  if (is_true || c.accept("false")) {
    op.types.emplace_back().element = Element::I1;
    op.integer = is_true ? 1 : 0;
    c.expect_end();
    return kNoRegion;
  }
  const std::string_view literal = c.rest().substr(0, c.rest().find(' '));
  c.skip(literal.size());
  c.expect(":");
  type(op, c);
  c.expect_end();
  const ir::Type& t = op.types.back();
  if (t.kind != ir::Type::Kind::Scalar) c.fail("a constant that is no scalar is not supported");
  if (!is_float(t.element) || literal.substr(0, 2) == "0x") {
    Cursor number(literal, c.line());
    op.integer = number.integer();
    number.expect_end();
    if (is_float(t.element)) op.real = float_of_bits(t.element, op.integer);
    return kNoRegion;
  }
  const std::string copy(literal);
  char* end = nullptr;
  op.real = round_to(t.element, std::strtod(copy.c_str(), &end));
  if (copy.empty() || *end != '\0') c.fail("bad number '" + shown(literal) + "'");
  return kNoRegion;
}

// a, b : T
bool binary(Op& op, Cursor& c) {
  value(op, c);
  c.expect(",");
  value(op, c);
  if (c.accept("overflow") || c.accept("fastmath")) c.balanced();
  c.expect(":");
  type(op, c);
  c.expect_end();
  return kNoRegion;
}

// a : T
bool unary(Op& op, Cursor& c) {
  value(op, c);
  if (c.accept("fastmath")) c.balanced();
  c.expect(":");
  type(op, c);
  c.expect_end();
  return kNoRegion;
}

// slt, a, b : T
bool compare(Op& op, Cursor& c) {
  op.word = c.word();
  c.expect(",");
  return binary(op, c);
}

// c, a, b : T
bool select(Op& op, Cursor& c) {
  value(op, c);
  c.expect(",");
  value(op, c);
  c.expect(",");
  value(op, c);
  c.expect(":");
  type(op, c);
  c.expect_end();
  return kNoRegion;
}

// a : T to U
bool conversion(Op& op, Cursor& c) {
  value(op, c);
  if (c.accept("fastmath") || c.accept("nneg") || c.accept("overflow")) {
    if (c.peek() == '<') c.balanced();
  }
  c.expect(":");
  type(op, c);
  c.expect("to");
  type(op, c);
  c.expect_end();
  return kNoRegion;
}

// #map(dimensions)[symbols]
bool affine(Op& op, Cursor& c) {
  c.expect("#");
  op.word = c.word();
  list(op, c, "(", ")");
  if (c.peek() == '[')
    list(op, c);
  else
    op.lists.emplace_back();
  c.expect_end();
  return kNoRegion;
}

bool index_result(Op&, Cursor& c) {
  c.expect("->");
  if (const ir::Type t = parse_type(c); t.element != Element::I64) c.fail("expected an i64 result");
  c.expect_end();
  return kNoRegion;
}

bool nothing(Op&, Cursor& c) {
  c.expect_end();
  return kNoRegion;
}

// (c) : (i1) -> ()
bool assume(Op& op, Cursor& c) {
  c.expect("(");
  value(op, c);
  c.expect(")");
  c.expect(":");
  return kNoRegion;
}

bool one_value(Op& op, Cursor& c) {
  value(op, c);
  c.expect_end();
  return kNoRegion;
}

// (4 : i64) : i64
bool pointer_constant(Op& op, Cursor& c) {
  c.expect("(");
  op.integer = c.decimal();
  return kNoRegion;
}

// @name : !llvm.ptr
bool address_of(Op& op, Cursor& c) {
  c.expect("@");
  op.word = c.word();
  return kNoRegion;
}

// a[0, 0] : (!llvm.ptr) -> !llvm.ptr, type
bool pointer_element(Op& op, Cursor& c) {
  value(op, c);
  return kNoRegion;
}

const Forms& forms() {
  static const Forms kForms = [] {
    Forms table = {
        {"arith.constant", constant},
        {"arith.select", select},
        {"arith.cmpi", compare},
        {"arith.cmpf", compare},
        {"affine.apply", affine},
        {"affine.min", affine},
        {"affine.max", affine},
        {"hivm.hir.get_block_idx", index_result},
        {"hivm.hir.get_sub_block_idx", index_result},
        {"hivm.hir.set_mask_norm", nothing},
        {"llvm.intr.assume", assume},
        {"hivm.hir.set_ffts_base_addr", one_value},
        // These only feed device_print.
        {"llvm.mlir.constant", pointer_constant},
        {"llvm.mlir.addressof", address_of},
        {"llvm.getelementptr", pointer_element},
    };
    for (const std::string_view name :
         {"arith.addi",           "arith.subi",          "arith.muli",     "arith.divsi",   "arith.remsi",
          "arith.divui",          "arith.remui",         "arith.andi",     "arith.ori",     "arith.xori",
          "arith.shli",           "arith.shrsi",         "arith.shrui",    "arith.maxsi",   "arith.minsi",
          "arith.maxui",          "arith.minui",         "arith.addf",     "arith.subf",    "arith.mulf",
          "arith.divf",           "arith.maximumf",      "arith.minimumf", "arith.maxnumf", "arith.minnumf",
          "arith.mulsi_extended", "arith.mului_extended"}) {
      table[name] = binary;
    }
    for (const std::string_view name : {"math.sqrt", "math.absf", "math.exp", "math.log", "arith.negf"}) {
      table[name] = unary;
    }
    for (const std::string_view name :
         {"arith.index_cast", "arith.index_castui", "arith.trunci", "arith.extsi", "arith.extui",
          "arith.sitofp", "arith.uitofp", "arith.fptosi", "arith.truncf", "arith.extf"}) {
      table[name] = conversion;
    }
    add_view_forms(table);
    add_control_forms(table);
    return table;
  }();
  return kForms;
}

}  // namespace

bool parse_operation(ir::Op& op, Cursor& cursor) {
  const auto found = forms().find(op.name);
  if (found == forms().end()) cursor.fail("operation '" + shown(op.name) + "' is not supported");
  return found->second(op, cursor);
}

}  // namespace hivm
