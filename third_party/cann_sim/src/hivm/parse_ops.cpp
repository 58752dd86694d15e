// The printed form of every operation. An operation that is not in the table at the end is not supported.
#include <cstdlib>
#include <unordered_map>

#include "hivm/parse.h"
#include "hivm/scalar.h"

namespace hivm {
namespace {

using ir::Op;
using Form = bool (*)(Op&, Cursor&);  // true: a region follows

constexpr bool kRegion = true, kNoRegion = false;

void value(Op& op, Cursor& c) { op.operands.push_back({c.value_name(), 0}); }

ir::Operand value_or_literal(Cursor& c) {
  if (c.peek() == '%') return {c.value_name(), 0};
  return {{}, c.decimal()};
}

// "[a, 1, b]" or "[]", with the brackets given.
void list(Op& op, Cursor& c, std::string_view open = "[", std::string_view close = "]") {
  c.expect(open);
  op.lists.emplace_back();
  if (c.accept(close)) return;
  do op.lists.back().push_back(value_or_literal(c));
  while (c.accept(","));
  c.expect(close);
}

void type(Op& op, Cursor& c) { op.types.push_back(parse_type(c)); }

void region_start(Cursor& c) {
  c.expect("{");
  c.expect_end();
}

Pipe pipe(Cursor& c) {
  static const std::unordered_map<std::string_view, Pipe> kPipesByName = {
      {"PIPE_S", Pipe::S},       {"PIPE_V", Pipe::V},       {"PIPE_M", Pipe::M},
      {"PIPE_MTE1", Pipe::Mte1}, {"PIPE_MTE2", Pipe::Mte2}, {"PIPE_MTE3", Pipe::Mte3},
      {"PIPE_FIX", Pipe::Fix},   {"PIPE_ALL", Pipe::All}};
  c.expect("<");
  const std::string_view name = c.word();
  c.expect(">");
  const auto found = kPipesByName.find(name);
  if (found == kPipesByName.end()) c.fail("pipe '" + shown(name) + "' is not supported");
  return found->second;
}

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

// (a) : memref, or (a) [sizes] : memref
bool pointer_cast(Op& op, Cursor& c) {
  c.expect("(");
  value(op, c);
  c.expect(")");
  if (c.peek() == '[')
    list(op, c);
  else
    op.lists.emplace_back();
  c.expect(":");
  type(op, c);
  c.expect_end();
  return kNoRegion;
}

// a : T to U. The types only change what is known, not the view, so they are not read.
bool memref_cast(Op& op, Cursor& c) {
  value(op, c);
  c.expect(":");
  return kNoRegion;
}

// a to offset: [o], sizes: [...], strides: [...] : T to U
bool reinterpret_cast_form(Op& op, Cursor& c) {
  value(op, c);
  c.expect("to");
  for (const std::string_view part : {"offset", "sizes", "strides"}) {
    c.expect(part);
    c.expect(":");
    list(op, c);
    if (part != "strides") c.expect(",");
  }
  c.expect(":");
  return kNoRegion;
}

// a[offsets] [sizes] [strides] {attributes} : T to U
bool subview(Op& op, Cursor& c) {
  value(op, c);
  for (int i = 0; i < 3; i++) list(op, c);
  c.skip_attributes();
  c.expect(":");
  type(op, c);
  c.expect("to");
  type(op, c);
  c.expect_end();
  return kNoRegion;
}

void reassociation(Op& op, Cursor& c) {
  c.expect("[");
  if (c.accept("]")) return;
  do {
    c.expect("[");
    op.groups.emplace_back();
    do op.groups.back().push_back(c.decimal());
    while (c.accept(","));
    c.expect("]");
  } while (c.accept(","));
  c.expect("]");
}

// a [[0, 1], [2]] {attributes} : T into U
bool collapse_shape(Op& op, Cursor& c) {
  value(op, c);
  reassociation(op, c);
  c.skip_attributes();
  c.expect(":");
  return kNoRegion;
}

// a [[0, 1]] output_shape [16, 1] {attributes} : T into U
bool expand_shape(Op& op, Cursor& c) {
  value(op, c);
  reassociation(op, c);
  c.expect("output_shape");
  list(op, c);
  c.skip_attributes();
  c.expect(":");
  return kNoRegion;
}

// a[bytes][sizes] : T to U
bool view(Op& op, Cursor& c) {
  value(op, c);
  list(op, c);
  list(op, c);
  c.expect(":");
  type(op, c);
  c.expect("to");
  type(op, c);
  c.expect_end();
  return kNoRegion;
}

// a : T -> U
bool bitcast(Op& op, Cursor& c) {
  value(op, c);
  c.expect(":");
  type(op, c);
  c.expect("->");
  type(op, c);
  c.expect_end();
  return kNoRegion;
}

// a : T -> base, index, ...
bool metadata(Op& op, Cursor& c) { return memref_cast(op, c); }

// a[i, j] {attributes} : T
bool load(Op& op, Cursor& c) {
  value(op, c);
  list(op, c);
  c.skip_attributes();
  c.expect(":");
  return kNoRegion;
}

// v, a[i, j] {attributes} : T
bool store(Op& op, Cursor& c) {
  value(op, c);
  c.expect(",");
  return load(op, c);
}

// (%x = a, ...): op.lists.back() holds the names, op.operands the values
void carried(Op& op, Cursor& c) {
  op.lists.emplace_back();
  c.expect("(");
  if (c.accept(")")) return;
  do {
    op.lists.back().push_back({c.value_name(), 0});
    c.expect("=");
    value(op, c);
  } while (c.accept(","));
  c.expect(")");
}

// %i = a to b step s iter_args(%x = v) -> (types) : i32 {. operands: a, b, s, v...; lists: [i], [x...]
bool for_loop(Op& op, Cursor& c) {
  op.lists.push_back({{c.value_name(), 0}});
  c.expect("=");
  value(op, c);
  c.expect("to");
  value(op, c);
  c.expect("step");
  value(op, c);
  if (c.accept("iter_args")) {
    carried(op, c);
    c.expect("->");
    c.balanced();
  } else {
    op.lists.emplace_back();
  }
  if (c.accept(":")) type(op, c);
  region_start(c);
  return kRegion;
}

// c -> (types) {
bool if_form(Op& op, Cursor& c) {
  value(op, c);
  if (c.accept("->")) c.balanced();
  region_start(c);
  return kRegion;
}

// (%x = v, ...) : (types) -> (types) {
bool while_loop(Op& op, Cursor& c) {
  if (c.peek() == '(')
    carried(op, c);
  else
    op.lists.emplace_back();
  c.expect(":");
  c.balanced();
  c.expect("->");
  if (c.peek() == '(')
    c.balanced();
  else
    parse_type(c);
  region_start(c);
  return kRegion;
}

// a, b : types, or nothing
bool yield(Op& op, Cursor& c) {
  if (c.at_end()) return kNoRegion;
  do value(op, c);
  while (c.accept(","));
  c.expect(":");
  return kNoRegion;
}

// (c) a, b : types. The condition is the first operand.
bool condition(Op& op, Cursor& c) {
  c.expect("(");
  value(op, c);
  c.expect(")");
  if (c.at_end()) return kNoRegion;
  do value(op, c);
  while (c.accept(","));
  c.expect(":");
  return kNoRegion;
}

// @name(a, b) : (types) -> ()
bool call(Op& op, Cursor& c) {
  c.expect("@");
  op.word = c.word();
  c.expect("(");
  if (!c.accept(")")) {
    do value(op, c);
    while (c.accept(","));
    c.expect(")");
  }
  c.expect(":");
  c.balanced();
  c.expect("->");
  c.expect("(");
  c.expect(")");
  c.expect_end();
  return kNoRegion;
}

// [<source>, <target>, <EVENT_ID0>] or [<source>, <target>, %event]
bool flag(Op& op, Cursor& c) {
  constexpr std::string_view kEvent = "EVENT_ID";
  c.expect("[");
  op.source = pipe(c);
  c.expect(",");
  op.target = pipe(c);
  c.expect(",");
  if (c.accept("<")) {
    const std::string_view event = c.word();
    if (event.substr(0, kEvent.size()) != kEvent) c.fail("event '" + shown(event) + "' is not supported");
    op.operands.push_back({{}, Cursor(event.substr(kEvent.size()), c.line()).decimal()});
    c.expect(">");
  } else {
    value(op, c);
  }
  c.expect("]");
  c.expect_end();
  return kNoRegion;
}

bool barrier(Op& op, Cursor& c) {
  c.expect("[");
  op.source = pipe(c);
  c.expect("]");
  c.expect_end();
  return kNoRegion;
}

// [<CUBE>, <source>, <target>] flag = n ffts_base_addr = %a sync_instr_mode = <...>
bool block_flag(Op& op, Cursor& c) {
  c.expect("[");
  c.expect("<");
  op.word = c.word();
  c.expect(">");
  c.expect(",");
  op.source = pipe(c);
  c.expect(",");
  op.target = pipe(c);
  c.expect("]");
  c.expect("flag");
  c.expect("=");
  op.operands.push_back(value_or_literal(c));
  op.integer = c.rest().find("INTER_BLOCK_SYNCHRONIZATION") != std::string_view::npos;
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

const std::unordered_map<std::string_view, Form>& forms() {
  static const std::unordered_map<std::string_view, Form> kForms = [] {
    std::unordered_map<std::string_view, Form> table = {
        {"arith.constant", constant},
        {"arith.select", select},
        {"arith.cmpi", compare},
        {"arith.cmpf", compare},
        {"affine.apply", affine},
        {"affine.min", affine},
        {"affine.max", affine},
        {"memref.cast", memref_cast},
        {"memref.reinterpret_cast", reinterpret_cast_form},
        {"memref.subview", subview},
        {"memref.collapse_shape", collapse_shape},
        {"memref.expand_shape", expand_shape},
        {"memref.view", view},
        {"memref.extract_strided_metadata", metadata},
        {"memref.load", load},
        {"memref.store", store},
        {"scf.for", for_loop},
        {"scf.if", if_form},
        {"scf.while", while_loop},
        {"scf.yield", yield},
        {"scf.condition", condition},
        {"return", yield},
        {"func.return", yield},
        {"call", call},
        {"func.call", call},
        {"hivm.hir.bitcast", bitcast},
        {"hivm.hir.pointer_cast", pointer_cast},
        {"hivm.hir.get_block_idx", index_result},
        {"hivm.hir.get_sub_block_idx", index_result},
        {"hivm.hir.set_flag", flag},
        {"hivm.hir.wait_flag", flag},
        {"hivm.hir.pipe_barrier", barrier},
        {"hivm.hir.sync_block_set", block_flag},
        {"hivm.hir.sync_block_wait", block_flag},
        {"hivm.hir.set_mask_norm", nothing},
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
