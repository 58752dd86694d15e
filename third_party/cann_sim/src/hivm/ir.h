// A module as it is written: functions, operations, types and affine maps. Names are views into the module's
// text, which must outlive it.
#pragma once
#include <cstdint>
#include <deque>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "hivm/element.h"
#include "hivm/micro.h"
#include "hivm/view.h"

namespace hivm::ir {

inline constexpr int64_t kDynamic = std::numeric_limits<int64_t>::min();  // a '?' in a type

struct Type {
  enum class Kind : uint8_t { Scalar, MemRef, Pointer };
  Kind kind = Kind::Scalar;
  Element element = Element::I64;
  bool is_index = false;    // element I64
  Space space = Space::Gm;  // memref only; gm when none is printed
  std::vector<int64_t> shape;
  std::vector<int64_t>
      strides;  // as many as dimensions; row-major (kDynamic where unknown) when none are printed
  bool has_strides = false;
};

// A value, or an integer written in place (in the lists of memref.subview and the like).
struct Operand {
  std::string_view name;  // empty: a literal
  int64_t literal = 0;
};

// A node of an affine expression; children by index into AffineMap::nodes.
struct AffineNode {
  enum class Kind : uint8_t { Constant, Dimension, Symbol, Add, Multiply, Mod, FloorDiv, CeilDiv };
  Kind kind = Kind::Constant;
  int64_t value = 0;  // of a constant; the number of a dimension or symbol
  int left = -1, right = -1;
};

struct AffineMap {
  int dimensions = 0, symbols = 0;
  std::vector<AffineNode> nodes;
  std::vector<int> results;
};

struct Op;

struct Block {
  std::vector<std::string_view> arguments;  // of a "^bb0(...)" line
  std::vector<Op> ops;
};

// Which fields are filled depends on the operation; parse_ops.cpp lists them by form.
struct Op {
  std::string_view name;
  int line = 0;
  std::vector<std::string_view> results;  // "%1:2" becomes "%1#0", "%1#1" (see Module::names)
  std::vector<Operand> operands;
  std::vector<std::vector<Operand>> lists;   // offsets, sizes, strides
  std::vector<std::vector<int64_t>> groups;  // reassociation
  std::vector<Type> types;
  std::string_view word;  // predicate, callee, map name or core name
  int64_t integer = 0;    // literal of arith.constant; sync_block_set: 1 when all blocks meet
  double real = 0;
  Pipe source = Pipe::S, target = Pipe::S;
  std::vector<Block> regions;
};

struct Parameter {
  std::string_view name;
  Type type;
};

struct Function {
  std::string_view name, attributes;
  int line = 0;
  std::vector<Parameter> parameters;
  Block body;

  bool is_entry() const { return attributes.find("hacc.entry") != attributes.npos; }
  bool is_host() const { return attributes.find("function_kind<HOST>") != attributes.npos; }
  bool is_cube() const {
    return attributes.find("func_core_type = #hivm.func_core_type<AIC>") != attributes.npos;
  }
  bool is_mixed() const { return attributes.find("hivm.part_of_mix") != attributes.npos; }
};

struct Module {
  std::string_view attributes;
  std::map<std::string_view, AffineMap> maps;
  std::map<std::string_view, std::string> texts;  // of llvm.mlir.global, for device_print
  std::vector<Function> functions;                // with a body; declarations of micro-kernels are not kept
  std::deque<std::string> names;  // of single results of operations that have several ("%1#0")
};

}  // namespace hivm::ir
