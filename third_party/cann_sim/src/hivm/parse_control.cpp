// The printed forms of loops, branches, calls and synchronisation.
#include "hivm/parse_form.h"

namespace hivm {
namespace {

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

}  // namespace

void add_control_forms(Forms& forms) {
  forms.insert({
      {"scf.for", for_loop},
      {"scf.if", if_form},
      {"scf.while", while_loop},
      {"scf.yield", yield},
      {"scf.condition", condition},
      {"return", yield},
      {"func.return", yield},
      {"call", call},
      {"func.call", call},
      {"hivm.hir.set_flag", flag},
      {"hivm.hir.wait_flag", flag},
      {"hivm.hir.pipe_barrier", barrier},
      {"hivm.hir.sync_block_set", block_flag},
      {"hivm.hir.sync_block_wait", block_flag},
  });
}

}  // namespace hivm
