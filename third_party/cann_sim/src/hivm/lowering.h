// The state of lowering one function: scopes, slots, the code so far. Used by lower*.cpp.
#pragma once
#include <string>
#include <unordered_map>
#include <vector>

#include "hivm/code.h"
#include "hivm/ir.h"
#include "hivm/steps.h"

namespace hivm {

// What a name stands for.
struct Value {
  bool is_view = false;
  bool constant = false;
  uint32_t slot = 0;
  Element element = Element::I64;  // index and pointers: I64
  // Views only.
  Space space = Space::Gm;
  uint8_t rank = 0;
};

class Lowering {
 public:
  Lowering(const ir::Module& module, Code& code);
  void function(const ir::Function& function);

 private:
  using Handler = void (Lowering::*)(const ir::Op&);
  static const std::unordered_map<std::string_view, Handler>& handlers();

  // ---- scopes and slots
  void define(const ir::Op& op, std::string_view name, Value value);
  void define_result(const ir::Op& op, Value value);
  void define_results(const ir::Op& op, const std::vector<Value>& values);
  void leave_scope(size_t size);  // forgets all names beyond the first `size`
  const Value& lookup(int line, std::string_view name) const;
  const Value& scalar(const ir::Op& op, size_t operand) const;
  const Value& view(const ir::Op& op, size_t operand) const;
  const Value& integer(int line, const Value& value) const;
  Value operand(const ir::Op& op, const ir::Operand& operand);  // a value or a literal; must be an integer
  Value literal(int64_t number);
  Value constant(Element element, Scalar scalar);
  uint32_t new_scalar();
  uint32_t new_view();
  Value scalar_result(Element element) { return {false, false, new_scalar(), element}; }

  // ---- code
  void emit(const Instruction& instruction) { code_.instructions.push_back(instruction); }
  // An instruction without side effects that writes slot d (a scalar or a view): computed at once when
  // `constant`. Returns whether it was.
  bool emit_pure(const Instruction& instruction, bool constant);
  size_t here() const { return code_.instructions.size(); }
  void jump_to_here(size_t from) { code_.instructions[from].extra = static_cast<int64_t>(here() - from); }

  // ---- blocks and control flow (lower.cpp)
  // The operations of a region; returns what its terminator passes on.
  std::vector<Value> block(const ir::Block& block, std::string_view terminator, const ir::Op& owner);
  void operation(const ir::Op& op);
  void move(const ir::Op& op, const Value& from, const Value& to);
  void move_all(const ir::Op& op, const std::vector<Value>& from, const std::vector<Value>& to);
  Value slot_like(const Value& value);
  void check_same(const ir::Op& op, const Value& a, const Value& b) const;
  void find_met_flags(const ir::Block& block);
  void for_loop(const ir::Op& op);
  void if_else(const ir::Op& op);
  void while_loop(const ir::Op& op);

  // ---- operations (lower_ops.cpp)
  void arith_constant(const ir::Op& op);
  void arith_binary(const ir::Op& op);
  void arith_compare(const ir::Op& op);
  void arith_select(const ir::Op& op);
  void arith_convert(const ir::Op& op);
  void arith_unary(const ir::Op& op);
  void arith_multiply_extended(const ir::Op& op);
  void affine(const ir::Op& op);
  Value affine_node(const ir::Op& op, const ir::AffineMap& map, int node,
                    const std::vector<Value>& dimensions, const std::vector<Value>& symbols);

  // ---- the machine (lower_machine.cpp)
  void call(const ir::Op& op);
  void flag(const ir::Op& op);
  void barrier(const ir::Op& op);
  void block_index(const ir::Op& op);
  void sub_block_index(const ir::Op& op);
  void block_flag(const ir::Op& op);
  void nothing(const ir::Op& op);
  void text_length(const ir::Op& op);
  void text_address(const ir::Op& op);
  void text_pointer(const ir::Op& op);

  // ---- views (lower_views.cpp)
  void pointer_cast(const ir::Op& op);
  void memref_cast(const ir::Op& op);
  void reinterpret_cast_view(const ir::Op& op);
  void subview(const ir::Op& op);
  void collapse_shape(const ir::Op& op);
  void expand_shape(const ir::Op& op);
  void typed_view(const ir::Op& op);
  void bitcast(const ir::Op& op);
  void metadata(const ir::Op& op);
  void aligned_pointer(const ir::Op& op);
  void dimension_size(const ir::Op& op);
  void load(const ir::Op& op);
  void store(const ir::Op& op);
  // Fills `into` from a list of the operation and clears `constant` unless all are constants.
  void slots(const ir::Op& op, const std::vector<ir::Operand>& list, Slots& into, bool& constant);
  // Emits a step that makes a view from `source` (may be constant) and defines the result.
  void define_view(const ir::Op& op, Step step, uint32_t source, const ViewRecipe& recipe, Value result,
                   bool constant);

  const ir::Module& module_;
  Code& code_;
  Frame constants_;  // holds what is known at this time; becomes the initial slots of the code
  std::unordered_map<std::string_view, Value> names_;
  std::vector<std::string_view> scope_;  // the names in names_, innermost scope last
  std::unordered_map<int64_t, uint32_t> literals_;
  bool is_mixed_ = false;
  std::vector<ir::Operand> met_flags_;  // of sync_block_set for all blocks: their waits do not say so
};

}  // namespace hivm
