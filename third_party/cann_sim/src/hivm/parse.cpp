#include "hivm/parse.h"

#include <cstdio>

#include "hivm/affine.h"

namespace hivm {
namespace {

constexpr int kDeepestRegion = 64;
constexpr int64_t kMostResults = 64;

class Parser {
 public:
  explicit Parser(std::string_view text) : lines_(text) {}

  ir::Module parse() {
    bool in_module = false, closed = false;
    while (lines_.next()) {
      Cursor cursor(lines_.text(), lines_.number());
      if (cursor.peek() == '#') {
        parse_alias(cursor);
      } else if (cursor.accept("module")) {
        if (in_module) cursor.fail("a second module");
        in_module = true;
        if (cursor.accept("attributes")) module_.attributes = cursor.balanced();
        cursor.expect("{");
      } else if (cursor.accept("}")) {
        if (!in_module || closed) cursor.fail("unexpected '}'");
        closed = true;
      } else if (cursor.accept("func.func")) {
        if (!in_module || closed) cursor.fail("function outside of the module");
        parse_function(cursor);
      } else if (cursor.accept("llvm.mlir.global")) {
        parse_text(cursor);
      } else {
        cursor.fail("unexpected '" + shown(cursor.rest()) + "' at the top of a module");
      }
    }
    if (!in_module) fail(lines_.number(), "this is not an HIVM module: no 'module' line");
    if (!closed) fail(lines_.number(), "the text ends inside the module");
    return std::move(module_);
  }

 private:
  void parse_alias(Cursor& cursor) {
    cursor.expect("#");
    const std::string_view name = cursor.word();
    cursor.expect("=");
    if (cursor.rest().substr(0, 10) != "affine_map")
      return;  // other aliases are only referred to by attributes
    module_.maps[name] = parse_affine_map(cursor);
  }

  // [linkage] constant @name("text") {...}: what device_print puts before its values. \HH is a byte.
  void parse_text(Cursor& cursor) {
    const std::string_view line = cursor.rest();
    const size_t at = line.find('@'), open = line.find("(\""), close = line.rfind("\")");
    if (at == line.npos || open == line.npos || close == line.npos || open < at || close < open + 2) return;
    std::string& text = module_.texts[line.substr(at + 1, open - at - 1)];
    const std::string_view written = line.substr(open + 2, close - open - 2);
    for (size_t i = 0; i < written.size(); i++) {
      unsigned byte = 0;
      if (written[i] == '\\' && i + 2 < written.size() &&
          std::sscanf(std::string(written.substr(i + 1, 2)).c_str(), "%2x", &byte) == 1) {
        text += static_cast<char>(byte);
        i += 2;
      } else {
        text += written[i];
      }
    }
  }

  void parse_function(Cursor& cursor) {
    const bool declaration = cursor.accept("private");
    cursor.expect("@");
    ir::Function function;
    function.line = cursor.line();
    function.name = cursor.word();
    if (declaration) return;  // a micro-kernel: its name tells everything that counts
    cursor.expect("(");
    if (!cursor.accept(")")) {
      do {
        ir::Parameter parameter;
        parameter.name = cursor.value_name();
        cursor.expect(":");
        parameter.type = parse_type(cursor);
        cursor.skip_attributes();
        cursor.skip_location();
        function.parameters.push_back(std::move(parameter));
      } while (cursor.accept(","));
      cursor.expect(")");
    }
    if (cursor.accept("->")) {
      if (cursor.peek() == '(')
        cursor.balanced();
      else
        parse_type(cursor);
    }
    if (cursor.accept("attributes")) function.attributes = cursor.balanced();
    cursor.expect("{");
    cursor.expect_end();
    parse_block(function.body, 1);
    if (lines_.text() != "}") fail(lines_.number(), "expected '}' alone at the end of a function");
    module_.functions.push_back(std::move(function));
  }

  // Reads operations up to the line that begins with '}', which stays the current line.
  void parse_block(ir::Block& block, int depth) {
    if (depth > kDeepestRegion) fail(lines_.number(), "regions are nested too deeply");
    while (lines_.next()) {
      Cursor cursor(lines_.text(), lines_.number());
      if (cursor.peek() == '}') return;
      if (cursor.peek() == '^') {
        if (!block.ops.empty() || !block.arguments.empty()) cursor.fail("more than one block in a region");
        parse_block_arguments(block, cursor);
        continue;
      }
      ir::Op op;
      op.line = cursor.line();
      if (cursor.peek() == '%') parse_results(op, cursor);
      const bool generic = cursor.accept("\"");  // "llvm.intr.assume"(%c) : (i1) -> ()
      op.name = cursor.word();
      if (generic) cursor.expect("\"");
      if (parse_operation(op, cursor)) parse_regions(op, depth);
      block.ops.push_back(std::move(op));
    }
    fail(lines_.number(), "the text ends inside a region");
  }

  void parse_block_arguments(ir::Block& block, Cursor& cursor) {
    cursor.expect("^");
    cursor.word();
    if (cursor.accept("(")) {
      do {
        block.arguments.push_back(cursor.value_name());
        cursor.expect(":");
        parse_type(cursor);
        cursor.skip_location();
      } while (cursor.accept(","));
      cursor.expect(")");
    }
    cursor.expect(":");
  }

  void parse_results(ir::Op& op, Cursor& cursor) {
    do {
      const std::string_view name = cursor.value_name();
      if (cursor.accept(":")) {
        const int64_t count = cursor.integer();
        if (count < 1 || count > kMostResults)
          cursor.fail("an operation with " + std::to_string(count) + " results");
        for (int64_t i = 0; i < count; i++) {
          module_.names.push_back(std::string(name) + "#" + std::to_string(i));
          op.results.push_back(module_.names.back());
        }
      } else {
        op.results.push_back(name);
      }
    } while (cursor.accept(","));
    cursor.expect("=");
  }

  void parse_regions(ir::Op& op, int depth) {
    for (;;) {
      op.regions.emplace_back();
      parse_block(op.regions.back(), depth + 1);
      const std::string_view close = lines_.text();
      if (close == "} else {" || close == "} do {") {
        if (op.regions.size() == 2) fail(lines_.number(), "an operation with more than two regions");
        continue;
      }
      Cursor cursor(close, lines_.number());
      cursor.expect("}");
      cursor.accept("attributes");  // so scf.while writes it
      cursor.skip_attributes();
      cursor.expect_end();
      return;
    }
  }

  Lines lines_;
  ir::Module module_;
};

}  // namespace

ir::Module parse_module(std::string_view text) { return Parser(text).parse(); }

}  // namespace hivm
