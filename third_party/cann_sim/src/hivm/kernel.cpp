#include "hivm/kernel.h"

#include <map>
#include <string>

#include "hivm/execute.h"
#include "hivm/lower.h"
#include "hivm/object.h"
#include "hivm/parse.h"
#include "hivm/text.h"

namespace hivm {
namespace {

class CompiledProgram final : public Program {
 public:
  explicit CompiledProgram(std::map<std::string, Code, std::less<>> entries) : entries_(std::move(entries)) {}

  Report run(const Launch& launch, const GlobalMemory& memory) const override {
    const auto found = entries_.find(launch.entry);
    if (found == entries_.end()) throw ExecutionError("the object has no kernel '" + launch.entry + "'");
    return execute(found->second, launch, memory);
  }

 private:
  std::map<std::string, Code, std::less<>> entries_;
};

std::map<std::string, Code, std::less<>> compile(std::string_view text) {
  const ir::Module module = parse_module(text);
  std::map<std::string, Code, std::less<>> entries;
  for (const ir::Function& function : module.functions) {
    if (!function.is_entry()) continue;
    Code code = lower_function(module, function);
    // Lowering comes first, so that the message names an operation where it can.
    if (function.is_cube() || function.is_mixed()) {
      fail(function.line,
           "kernel '" + shown(function.name) + "' runs on cube cores, which are not supported yet");
    }
    entries.emplace(std::string(function.name), std::move(code));
  }
  if (entries.empty()) throw CompileError("the module has no kernel (no function with 'hacc.entry')");
  return entries;
}

}  // namespace

std::string compile_module(std::string_view text) {
  compile(text);
  return pack_object(text);
}

std::shared_ptr<const Program> load_program(std::string_view object) {
  return std::make_shared<CompiledProgram>(compile(unpack_object(object)));
}

std::vector<HostConstant> host_constants(std::string_view text) {
  const ir::Module module = parse_module(text);
  std::vector<HostConstant> constants;
  for (const ir::Function& function : module.functions) {
    if (!function.is_host()) continue;
    const std::vector<ir::Op>& ops = function.body.ops;
    const bool simple = ops.size() == 2 && ops[0].name == "arith.constant" && ops[1].name == "return" &&
                        ops[0].results.size() == 1 && ops[1].operands.size() == 1 &&
                        ops[1].operands[0].name == ops[0].results[0];
    if (!simple)
      fail(function.line, "host function '" + shown(function.name) + "' does not simply return a constant");
    constants.push_back({std::string(function.name), ops[0].integer});
  }
  return constants;
}

}  // namespace hivm
