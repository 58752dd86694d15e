#include "hivm/parse.h"

namespace hivm {
namespace {

bool element_named(std::string_view name, Element& element) {
  static constexpr struct {
    std::string_view name;
    Element element;
  } kNames[] = {{"f32", Element::F32}, {"f16", Element::F16}, {"bf16", Element::BF16},
                {"f64", Element::F64}, {"i64", Element::I64}, {"i32", Element::I32},
                {"i16", Element::I16}, {"i8", Element::I8},   {"i1", Element::I1}};
  for (const auto& known : kNames) {
    if (known.name == name) {
      element = known.element;
      return true;
    }
  }
  return false;
}

int64_t size_or_dynamic(Cursor& cursor) { return cursor.accept("?") ? ir::kDynamic : cursor.decimal(); }

// "1024x?xf32": dimensions are glued to the element type, so this part is cut at each 'x'.
void parse_shape(Cursor& cursor, ir::Type& type) {
  while (cursor.peek() == '?' || (cursor.peek() >= '0' && cursor.peek() <= '9')) {
    if (type.shape.size() == kMaxRank) {
      cursor.fail("a memref with more than " + std::to_string(kMaxRank) + " dimensions is not supported");
    }
    const int64_t size = size_or_dynamic(cursor);
    if (size < 0 && size != ir::kDynamic) cursor.fail("negative dimension in a memref");
    type.shape.push_back(size);
    // A plain "x" token would not match before another name.
    if (cursor.rest().empty() || cursor.rest().front() != 'x') cursor.fail("expected 'x' after a dimension");
    cursor.skip(1);
  }
}

void parse_layout(Cursor& cursor, ir::Type& type) {
  cursor.expect("<");
  cursor.expect("[");
  type.has_strides = true;
  if (!cursor.accept("]")) {
    do type.strides.push_back(size_or_dynamic(cursor));
    while (cursor.accept(","));
    cursor.expect("]");
  }
  if (type.strides.size() != type.shape.size()) cursor.fail("a memref with other strides than dimensions");
  if (cursor.accept(",")) {
    cursor.expect("offset");
    cursor.expect(":");
    size_or_dynamic(cursor);
  }
  cursor.expect(">");
}

Space parse_space(Cursor& cursor) {
  cursor.expect("<");
  const std::string_view name = cursor.word();
  cursor.expect(">");
  if (name == "gm") return Space::Gm;
  if (name == "ub") return Space::Ub;
  if (name == "cbuf") return Space::L1;
  if (name == "cc") return Space::L0c;
  cursor.fail("address space '" + shown(name) + "' is not supported");
}

}  // namespace

ir::Type parse_type(Cursor& cursor) {
  ir::Type type;
  if (cursor.accept("!llvm.ptr")) {
    type.kind = ir::Type::Kind::Pointer;
    return type;
  }
  const std::string_view before = cursor.rest();
  const std::string_view name = cursor.word();
  if (name == "index") {
    type.is_index = true;
    return type;
  }
  if (element_named(name, type.element)) return type;
  if (name != "memref") cursor.fail("type '" + shown(before.substr(0, 40)) + "' is not supported");
  type.kind = ir::Type::Kind::MemRef;
  cursor.expect("<");
  parse_shape(cursor, type);
  const std::string_view element = cursor.word();
  if (!element_named(element, type.element)) {
    cursor.fail("element type '" + shown(element) + "' of a memref is not supported");
  }
  while (cursor.accept(",")) {
    if (cursor.accept("strided"))
      parse_layout(cursor, type);
    else if (cursor.accept("#hivm.address_space"))
      type.space = parse_space(cursor);
    else
      cursor.fail("memref attribute '" + shown(cursor.rest().substr(0, 40)) + "' is not supported");
  }
  cursor.expect(">");
  return type;
}

}  // namespace hivm
