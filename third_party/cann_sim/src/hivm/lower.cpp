#include "hivm/lower.h"

#include "hivm/cost_model.h"
#include "hivm/lowering.h"
#include "hivm/text.h"

namespace hivm {
namespace {

constexpr uint32_t kMostSlots = 1u << 20;

std::string quoted(std::string_view text) { return "'" + shown(text) + "'"; }

}  // namespace

Lowering::Lowering(const ir::Module& module, Code& code) : module_(module), code_(code) {
  constants_.code = &code;
}

// ---- scopes and slots

uint32_t Lowering::new_scalar() {
  if (constants_.scalars.size() >= kMostSlots) throw CompileError("the module has too many values");
  constants_.scalars.push_back({0});
  return static_cast<uint32_t>(constants_.scalars.size()) - 1;
}

uint32_t Lowering::new_view() {
  if (constants_.views.size() >= kMostSlots) throw CompileError("the module has too many views");
  constants_.views.emplace_back();
  return static_cast<uint32_t>(constants_.views.size()) - 1;
}

void Lowering::define(const ir::Op& op, std::string_view name, Value value) {
  if (!names_.emplace(name, value).second) fail(op.line, "value " + quoted(name) + " is defined twice");
  scope_.push_back(name);
}

void Lowering::define_result(const ir::Op& op, Value value) {
  if (op.results.size() != 1) fail(op.line, "operation " + quoted(op.name) + " has one result");
  define(op, op.results[0], value);
}

void Lowering::define_results(const ir::Op& op, const std::vector<Value>& values) {
  if (op.results.size() != values.size()) {
    fail(op.line, "operation " + quoted(op.name) + " has " + std::to_string(values.size()) + " results");
  }
  for (size_t i = 0; i < values.size(); i++) define(op, op.results[i], values[i]);
}

void Lowering::leave_scope(size_t size) {
  while (scope_.size() > size) {
    names_.erase(scope_.back());
    scope_.pop_back();
  }
}

const Value& Lowering::lookup(int line, std::string_view name) const {
  const auto found = names_.find(name);
  if (found == names_.end()) fail(line, "value " + quoted(name) + " is not defined");
  return found->second;
}

const Value& Lowering::scalar(const ir::Op& op, size_t operand) const {
  const Value& value = lookup(op.line, op.operands.at(operand).name);
  if (value.is_view) fail(op.line, quoted(op.name) + " on the memref " + quoted(op.operands[operand].name));
  return value;
}

const Value& Lowering::view(const ir::Op& op, size_t operand) const {
  const Value& value = lookup(op.line, op.operands.at(operand).name);
  if (!value.is_view)
    fail(op.line, quoted(op.name) + " on " + quoted(op.operands[operand].name) + ", which is no memref");
  return value;
}

const Value& Lowering::integer(int line, const Value& value) const {
  if (value.is_view || is_float(value.element)) fail(line, "an integer is expected");
  return value;
}

Value Lowering::operand(const ir::Op& op, const ir::Operand& operand) {
  if (operand.name.empty()) return literal(operand.literal);
  return integer(op.line, lookup(op.line, operand.name));
}

Value Lowering::literal(int64_t number) {
  const auto [entry, fresh] = literals_.try_emplace(number, 0);
  if (fresh) {
    entry->second = new_scalar();
    constants_.scalars[entry->second].i = number;
  }
  return {false, true, entry->second, Element::I64};
}

Value Lowering::constant(Element element, Scalar scalar) {
  if (!is_float(element)) {
    Value value = literal(scalar.i);
    value.element = element;
    return value;
  }
  const Value value{false, true, new_scalar(), element};
  constants_.scalars[value.slot] = scalar;
  return value;
}

// ---- code

bool Lowering::emit_pure(const Instruction& instruction, bool constant) {
  if (constant) {
    try {
      instruction.step(&instruction, constants_);
      return true;
    } catch (const ExecutionError&) {
      // What cannot be done is reported when it is executed, if ever.
    }
  }
  emit(instruction);
  return false;
}

// ---- blocks and control flow

void Lowering::find_met_flags(const ir::Block& block) {
  for (const ir::Op& op : block.ops) {
    if (op.name == "hivm.hir.sync_block_set" && op.integer) met_flags_.push_back(op.operands[0]);
    for (const ir::Block& region : op.regions) find_met_flags(region);
  }
}

void Lowering::function(const ir::Function& function) {
  code_.entry = function.name;
  code_.core = function.is_cube() ? CoreKind::Cube : CoreKind::Vector;
  is_mixed_ = function.is_mixed();
  find_met_flags(function.body);
  code_.meets_all_blocks = !met_flags_.empty();
  ir::Op here;
  here.name = "func.func";
  here.line = function.line;
  for (const ir::Parameter& parameter : function.parameters) {
    Value value;
    value.is_view = parameter.type.kind == ir::Type::Kind::MemRef;
    value.slot = value.is_view ? new_view() : new_scalar();
    value.element = parameter.type.element;
    value.space = parameter.type.space;
    value.rank = static_cast<uint8_t>(parameter.type.shape.size());
    if (value.is_view && value.space != Space::Gm)
      fail(function.line, "a parameter in local memory is not supported");
    define(here, parameter.name, value);
    code_.parameters.push_back({parameter.type, value.slot});
  }
  if (!block(function.body, "return", here).empty())
    fail(function.line, "an entry function that returns a value");
  Instruction end;
  end.step = step::stop;
  emit(end);
  code_.scalars = std::move(constants_.scalars);
  code_.views = std::move(constants_.views);
}

std::vector<Value> Lowering::block(const ir::Block& block, std::string_view terminator, const ir::Op& owner) {
  const size_t scope_start = scope_.size();
  std::vector<Value> leaving;
  bool ended = false;
  for (const ir::Op& op : block.ops) {
    if (ended) fail(op.line, "an operation behind the end of its block");
    const std::string_view name = op.name == "func.return" ? "return" : op.name;
    if (name == terminator) {
      for (const ir::Operand& operand : op.operands) leaving.push_back(lookup(op.line, operand.name));
      ended = true;
    } else {
      operation(op);
    }
  }
  // Only scf.yield may be left out, where it yields nothing.
  if (!ended && terminator != "scf.yield") {
    fail(owner.line, "a block of " + quoted(owner.name) + " does not end with " + quoted(terminator));
  }
  leave_scope(scope_start);
  return leaving;
}

void Lowering::operation(const ir::Op& op) {
  const auto found = handlers().find(op.name);
  if (found == handlers().end()) fail(op.line, "operation " + quoted(op.name) + " is not supported here");
  (this->*found->second)(op);
}

void Lowering::check_same(const ir::Op& op, const Value& a, const Value& b) const {
  const bool same = a.is_view == b.is_view && a.element == b.element &&
                    (!a.is_view || (a.rank == b.rank && a.space == b.space));
  if (!same) fail(op.line, quoted(op.name) + " with values of different types");
}

Value Lowering::slot_like(const Value& value) {
  Value copy = value;
  copy.constant = false;
  copy.slot = value.is_view ? new_view() : new_scalar();
  return copy;
}

void Lowering::move(const ir::Op& op, const Value& from, const Value& to) {
  check_same(op, from, to);
  if (from.slot == to.slot && from.is_view == to.is_view) return;
  Instruction i;
  i.step = to.is_view ? step::move_view : step::move_scalar;
  i.cycles = cost::kScalarCycles;
  i.line = op.line;
  i.a = from.slot;
  i.d = to.slot;
  emit(i);
}

// All at once: a loop may exchange its values.
void Lowering::move_all(const ir::Op& op, const std::vector<Value>& from, const std::vector<Value>& to) {
  if (from.size() != to.size()) {
    fail(op.line, quoted(op.name) + " passes on " + std::to_string(from.size()) + " values where " +
                      std::to_string(to.size()) + " are expected");
  }
  const auto overwritten_before_use = [&](size_t i) {
    for (size_t k = 0; k < i; k++) {
      if (to[k].is_view == from[i].is_view && to[k].slot == from[i].slot) return true;
    }
    return false;
  };
  std::vector<Value> sources = from;
  for (size_t i = 0; i < from.size(); i++) {
    if (!overwritten_before_use(i)) continue;
    sources[i] = slot_like(from[i]);
    move(op, from[i], sources[i]);
  }
  for (size_t i = 0; i < from.size(); i++) move(op, sources[i], to[i]);
}

void Lowering::for_loop(const ir::Op& op) {
  const Value low = integer(op.line, scalar(op, 0)), high = integer(op.line, scalar(op, 1)),
              by = integer(op.line, scalar(op, 2));
  check_same(op, low, high);
  check_same(op, low, by);
  if (op.regions.size() != 1) fail(op.line, "'scf.for' has one region");
  std::vector<Value> initial, carried;
  for (size_t i = 3; i < op.operands.size(); i++) {
    initial.push_back(lookup(op.line, op.operands[i].name));
    carried.push_back(slot_like(initial.back()));
  }
  move_all(op, initial, carried);
  Instruction begin;
  begin.step = step::for_begin;
  begin.cycles = cost::kScalarBranchCycles;
  begin.line = op.line;
  begin.a = new_scalar();
  begin.b = low.slot;
  begin.c = high.slot;
  begin.d = by.slot;
  const size_t start = here();
  emit(begin);
  const size_t outside = scope_.size();
  define(op, op.lists[0][0].name, {false, false, begin.a, low.element});
  for (size_t i = 0; i < carried.size(); i++) define(op, op.lists[1][i].name, carried[i]);
  const std::vector<Value> next = block(op.regions[0], "scf.yield", op);
  leave_scope(outside);
  move_all(op, next, carried);
  Instruction again = begin;
  again.step = step::for_next;
  again.extra = static_cast<int64_t>(start + 1) - static_cast<int64_t>(here());
  emit(again);
  jump_to_here(start);
  define_results(op, carried);
}

void Lowering::if_else(const ir::Op& op) {
  const Value condition = integer(op.line, scalar(op, 0));
  if (op.regions.size() > 2) fail(op.line, "'scf.if' has at most two regions");
  Instruction branch;
  branch.step = step::jump_unless;
  branch.cycles = cost::kScalarBranchCycles;
  branch.line = op.line;
  branch.a = condition.slot;
  const size_t to_else = here();
  emit(branch);
  const std::vector<Value> yielded = block(op.regions[0], "scf.yield", op);
  std::vector<Value> results;
  for (const Value& value : yielded) results.push_back(slot_like(value));
  move_all(op, yielded, results);
  if (op.regions.size() == 2) {
    Instruction skip;
    skip.step = step::jump;
    skip.cycles = cost::kScalarCycles;
    skip.line = op.line;
    const size_t to_end = here();
    emit(skip);
    jump_to_here(to_else);
    move_all(op, block(op.regions[1], "scf.yield", op), results);
    jump_to_here(to_end);
  } else {
    if (!results.empty()) fail(op.line, "'scf.if' with results needs an else region");
    jump_to_here(to_else);
  }
  define_results(op, results);
}

void Lowering::while_loop(const ir::Op& op) {
  if (op.regions.size() != 2) fail(op.line, "'scf.while' has two regions");
  code_.unbounded = true;
  std::vector<Value> initial, before;
  for (size_t i = 0; i < op.operands.size(); i++) {
    initial.push_back(lookup(op.line, op.operands[i].name));
    before.push_back(slot_like(initial.back()));
  }
  move_all(op, initial, before);
  const size_t start = here(), outside = scope_.size();
  for (size_t i = 0; i < before.size(); i++) define(op, op.lists[0][i].name, before[i]);
  std::vector<Value> passed = block(op.regions[0], "scf.condition", op);
  leave_scope(outside);
  const Value go_on = integer(op.line, passed.at(0));
  passed.erase(passed.begin());
  std::vector<Value> after;
  for (const Value& value : passed) after.push_back(slot_like(value));
  move_all(op, passed, after);
  Instruction leave;
  leave.step = step::jump_unless;
  leave.cycles = cost::kScalarBranchCycles;
  leave.line = op.line;
  leave.a = go_on.slot;
  const size_t to_end = here();
  emit(leave);
  const std::vector<std::string_view>& names = op.regions[1].arguments;
  if (names.size() != after.size())
    fail(op.line, "'scf.while' passes on another number of values than its body takes");
  for (size_t i = 0; i < after.size(); i++) define(op, names[i], after[i]);
  const std::vector<Value> next = block(op.regions[1], "scf.yield", op);
  leave_scope(outside);
  move_all(op, next, before);
  Instruction again;
  again.step = step::loop_back;
  again.cycles = cost::kScalarCycles;
  again.line = op.line;
  again.extra = static_cast<int64_t>(start) - static_cast<int64_t>(here());
  emit(again);
  jump_to_here(to_end);
  define_results(op, after);
}

Code lower_function(const ir::Module& module, const ir::Function& function) {
  Code code;
  Lowering(module, code).function(function);
  return code;
}

}  // namespace hivm
