#include "hivm/affine.h"

namespace hivm {
namespace {

using Kind = ir::AffineNode::Kind;
constexpr int kDeepest = 100;        // nesting of an expression
constexpr size_t kMostNodes = 1024;  // of a map

class Reader {
 public:
  Reader(Cursor& cursor, ir::AffineMap& map) : cursor_(cursor), map_(map) {}

  void names(std::string_view close, std::vector<std::string_view>& into) {
    if (cursor_.accept(close)) return;
    do into.push_back(cursor_.word());
    while (cursor_.accept(","));
    cursor_.expect(close);
  }

  void read() {
    cursor_.expect("affine_map");
    cursor_.expect("<");
    cursor_.expect("(");
    names(")", dimensions_);
    if (cursor_.accept("[")) names("]", symbols_);
    cursor_.expect("->");
    cursor_.expect("(");
    do map_.results.push_back(sum(0));
    while (cursor_.accept(","));
    cursor_.expect(")");
    cursor_.expect(">");
    map_.dimensions = static_cast<int>(dimensions_.size());
    map_.symbols = static_cast<int>(symbols_.size());
  }

 private:
  int add(Kind kind, int64_t value, int left, int right) {
    if (map_.nodes.size() >= kMostNodes) cursor_.fail("affine map is too large");
    map_.nodes.push_back({kind, value, left, right});
    return static_cast<int>(map_.nodes.size()) - 1;
  }

  int negated(int node) { return add(Kind::Multiply, 0, node, add(Kind::Constant, -1, -1, -1)); }

  int sum(int depth) {
    if (depth > kDeepest) cursor_.fail("affine expression is nested too deeply");
    int left = product(depth);
    for (;;) {
      if (cursor_.accept("+")) {
        left = add(Kind::Add, 0, left, product(depth));
      } else if (cursor_.peek() == '-' && cursor_.rest().substr(0, 2) != "->") {
        cursor_.expect("-");
        left = add(Kind::Add, 0, left, negated(product(depth)));
      } else {
        return left;
      }
    }
  }

  int product(int depth) {
    int left = factor(depth);
    for (;;) {
      Kind kind;
      if (cursor_.accept("*"))
        kind = Kind::Multiply;
      else if (cursor_.accept("mod"))
        kind = Kind::Mod;
      else if (cursor_.accept("floordiv"))
        kind = Kind::FloorDiv;
      else if (cursor_.accept("ceildiv"))
        kind = Kind::CeilDiv;
      else
        return left;
      left = add(kind, 0, left, factor(depth));
    }
  }

  int factor(int depth) {
    if (depth > kDeepest) cursor_.fail("affine expression is nested too deeply");
    if (cursor_.accept("(")) {
      const int inner = sum(depth + 1);
      cursor_.expect(")");
      return inner;
    }
    if (cursor_.accept("-")) return negated(factor(depth + 1));
    const char c = cursor_.peek();
    if (c >= '0' && c <= '9') return add(Kind::Constant, cursor_.integer(), -1, -1);
    const std::string_view name = cursor_.word();
    for (size_t i = 0; i < dimensions_.size(); i++) {
      if (dimensions_[i] == name) return add(Kind::Dimension, static_cast<int64_t>(i), -1, -1);
    }
    for (size_t i = 0; i < symbols_.size(); i++) {
      if (symbols_[i] == name) return add(Kind::Symbol, static_cast<int64_t>(i), -1, -1);
    }
    cursor_.fail("affine map uses the unknown name '" + shown(name) + "'");
  }

  Cursor& cursor_;
  ir::AffineMap& map_;
  std::vector<std::string_view> dimensions_, symbols_;
};

}  // namespace

ir::AffineMap parse_affine_map(Cursor& cursor) {
  ir::AffineMap map;
  Reader(cursor, map).read();
  return map;
}

}  // namespace hivm
