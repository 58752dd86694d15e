// What the printed forms of operations are read with.
#pragma once
#include <string_view>
#include <unordered_map>

#include "hivm/parse.h"

namespace hivm {

using ir::Op;
using Form = bool (*)(Op&, Cursor&);  // reads what is behind an operation's name; true: a region follows
using Forms = std::unordered_map<std::string_view, Form>;

constexpr bool kRegion = true, kNoRegion = false;

inline void value(Op& op, Cursor& c) { op.operands.push_back({c.value_name(), 0}); }

inline ir::Operand value_or_literal(Cursor& c) {
  if (c.peek() == '%') return {c.value_name(), 0};
  return {{}, c.decimal()};
}

// "[a, 1, b]" or "[]", with the brackets given.
inline void list(Op& op, Cursor& c, std::string_view open = "[", std::string_view close = "]") {
  c.expect(open);
  op.lists.emplace_back();
  if (c.accept(close)) return;
  do op.lists.back().push_back(value_or_literal(c));
  while (c.accept(","));
  c.expect(close);
}

inline void type(Op& op, Cursor& c) { op.types.push_back(parse_type(c)); }

// Views of memory and accesses to it: parse_views.cpp.
void add_view_forms(Forms& forms);

// Loops, branches, calls and synchronisation: parse_control.cpp.
void add_control_forms(Forms& forms);

}  // namespace hivm
