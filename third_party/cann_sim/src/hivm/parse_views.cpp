// The printed forms of views of memory and of accesses to it.
#include "hivm/parse_form.h"

namespace hivm {
namespace {

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

// a : T -> base, index, ... or a : T -> index
bool metadata(Op& op, Cursor& c) { return memref_cast(op, c); }

// a, d : T
bool dimension(Op& op, Cursor& c) {
  value(op, c);
  c.expect(",");
  value(op, c);
  c.expect(":");
  return kNoRegion;
}

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

}  // namespace

void add_view_forms(Forms& forms) {
  forms.insert({
      {"memref.cast", memref_cast},
      {"memref.reinterpret_cast", reinterpret_cast_form},
      {"memref.subview", subview},
      {"memref.collapse_shape", collapse_shape},
      {"memref.expand_shape", expand_shape},
      {"memref.view", view},
      {"memref.extract_strided_metadata", metadata},
      {"memref.extract_aligned_pointer_as_index", metadata},
      {"memref.dim", dimension},
      {"memref.load", load},
      {"memref.store", store},
      {"hivm.hir.bitcast", bitcast},
      {"hivm.hir.pointer_cast", pointer_cast},
  });
}

}  // namespace hivm
