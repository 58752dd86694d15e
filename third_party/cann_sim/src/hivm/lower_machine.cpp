// Lowering of what concerns the machine: calls of micro-kernels, flags and barriers, block numbers, debug
// texts.
#include <algorithm>

#include "hivm/cost_model.h"
#include "hivm/lowering.h"
#include "hivm/text.h"

namespace hivm {
namespace {

std::string quoted(std::string_view text) { return "'" + shown(text) + "'"; }

}  // namespace

void Lowering::call(const ir::Op& op) {
  CallSite site;
  site.name = op.word;
  site.kernel = find_micro_kernel(op.word);
  if (!site.kernel) fail(op.line, "micro-kernel " + quoted(op.word) + " is not supported");
  std::vector<std::optional<int64_t>> integers;
  for (const ir::Operand& operand : op.operands) {
    const Value& value = lookup(op.line, operand.name);
    const bool known = value.constant && !value.is_view && !is_float(value.element);
    integers.push_back(known ? std::optional(constants_.scalars[value.slot].i) : std::nullopt);
    site.arguments.push_back(
        {value.slot, value.is_view, !value.is_view && is_float(value.element), value.constant});
  }
  if (!op.results.empty()) fail(op.line, "micro-kernel " + quoted(op.word) + " has no results");
  code_.keeps_order |= site.kernel->keeps_order(integers);
  code_.locks |= op.word == "sync_block_lock";
  Instruction i;
  i.step = step::call;
  i.cycles = cost::kCallCycles;
  i.line = op.line;
  i.extra = static_cast<int64_t>(code_.calls.size());
  code_.calls.push_back(std::move(site));
  emit(i);
}

void Lowering::flag(const ir::Op& op) {
  if (op.source == Pipe::All || op.target == Pipe::All)
    fail(op.line, quoted(op.name) + " with PIPE_ALL is not supported");
  Instruction i;
  i.step = op.name == "hivm.hir.set_flag" ? step::set_flag : step::wait_flag;
  i.cycles = cost::kIssueCycles;
  i.line = op.line;
  i.a = static_cast<uint32_t>(op.source);
  i.b = static_cast<uint32_t>(op.target);
  i.c = operand(op, op.operands[0]).slot;
  emit(i);
}

void Lowering::barrier(const ir::Op& op) {
  Instruction i;
  i.step = step::barrier;
  i.cycles = cost::kIssueCycles;
  i.line = op.line;
  i.a = static_cast<uint32_t>(op.source);
  emit(i);
}

void Lowering::block_index(const ir::Op& op) {
  const Value result = scalar_result(Element::I64);
  Instruction i;
  i.step = step::block_index;
  i.cycles = cost::kScalarCycles;
  i.line = op.line;
  i.d = result.slot;
  emit(i);
  define_result(op, result);
}

void Lowering::sub_block_index(const ir::Op& op) {
  const Value result = scalar_result(Element::I64);
  Instruction i;
  i.step = step::sub_block_index;
  i.cycles = cost::kScalarCycles;
  i.line = op.line;
  i.d = result.slot;
  emit(i);
  define_result(op, result);
}

// The first core named is the one that executes this; both halves of a kernel name a flag by its number.
void Lowering::block_flag(const ir::Op& op) {
  if (op.word != (code_.core == CoreKind::Cube ? "CUBE" : "VECTOR"))
    fail(op.line, quoted(op.name) + " of " + quoted(op.word) + " on the other kind of core");
  if (op.source == Pipe::All || op.target == Pipe::All)
    fail(op.line, quoted(op.name) + " with PIPE_ALL is not supported");
  const ir::Operand& flag = op.operands[0];
  const bool all_blocks = std::any_of(met_flags_.begin(), met_flags_.end(), [&](const ir::Operand& met) {
    return met.name == flag.name && met.literal == flag.literal;
  });
  if (!all_blocks && !is_mixed_) fail(op.line, quoted(op.name) + " in a kernel that is not mixed");
  Instruction i;
  i.step = op.name == "hivm.hir.sync_block_set" ? step::set_block_flag : step::wait_block_flag;
  i.cycles = cost::kIssueCycles;
  i.line = op.line;
  i.a = static_cast<uint32_t>(op.source);
  i.b = static_cast<uint32_t>(op.target);
  i.c = operand(op, flag).slot;
  i.extra = all_blocks;
  emit(i);
}

void Lowering::nothing(const ir::Op&) {}

// Lengths and pointers that only device_print uses. A pointer is the number of a text in the code, from 1.
void Lowering::text_length(const ir::Op& op) { define_result(op, literal(op.integer)); }

void Lowering::text_address(const ir::Op& op) {
  const auto found = module_.texts.find(op.word);
  if (found == module_.texts.end()) {
    define_result(op, literal(0));
    return;
  }
  code_.texts.push_back(found->second);
  define_result(op, literal(static_cast<int64_t>(code_.texts.size())));
}

void Lowering::text_pointer(const ir::Op& op) { define_result(op, scalar(op, 0)); }

}  // namespace hivm
