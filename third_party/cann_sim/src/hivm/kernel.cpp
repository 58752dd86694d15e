#include "hivm/kernel.h"

#include <algorithm>
#include <map>
#include <string>

#include "hivm/execute.h"
#include "hivm/lower.h"
#include "hivm/object.h"
#include "hivm/parse.h"
#include "hivm/text.h"

namespace hivm {
namespace {

using Kernels = std::map<std::string, KernelCode, std::less<>>;

class CompiledProgram final : public Program {
 public:
  explicit CompiledProgram(Kernels kernels) : kernels_(std::move(kernels)) {}

  Report run(const Launch& launch, const GlobalMemory& memory) const override {
    const auto found = kernels_.find(launch.entry);
    if (found == kernels_.end()) throw ExecutionError("the object has no kernel '" + launch.entry + "'");
    return execute(found->second, launch, memory);
  }

 private:
  Kernels kernels_;
};

// The two halves of a mixed kernel are named after it.
std::string kernel_name(const ir::Function& function) {
  std::string name(function.name);
  if (!function.is_mixed()) return name;
  const std::string_view suffix = function.is_cube() ? "_mix_aic" : "_mix_aiv";
  if (name.size() <= suffix.size() || name.compare(name.size() - suffix.size(), suffix.size(), suffix) != 0) {
    fail(function.line,
         "half a mixed kernel is named '" + shown(name) + "'; it should end with " + std::string(suffix));
  }
  return name.substr(0, name.size() - suffix.size());
}

bool same_parameters(const Code& a, const Code& b) {
  return std::equal(a.parameters.begin(), a.parameters.end(), b.parameters.begin(), b.parameters.end(),
                    [](const CodeParameter& x, const CodeParameter& y) {
                      return x.type.kind == y.type.kind && x.type.element == y.type.element;
                    });
}

Kernels compile(std::string_view text) {
  const ir::Module module = parse_module(text);
  Kernels kernels;
  for (const ir::Function& function : module.functions) {
    if (!function.is_entry()) continue;
    const std::string name = kernel_name(function);
    KernelCode& kernel = kernels[name];
    if (!kernel.name.empty() && !function.is_mixed())
      fail(function.line, "kernel '" + shown(name) + "' is defined twice");
    kernel.name = name;
    std::shared_ptr<const Code>& half = function.is_cube() ? kernel.cube : kernel.vector;
    if (half) fail(function.line, "kernel '" + shown(name) + "' is defined twice");
    half = std::make_shared<const Code>(lower_function(module, function));
    if (kernel.is_mixed() && !same_parameters(*kernel.vector, *kernel.cube))
      fail(function.line, "the halves of kernel '" + shown(name) + "' take different arguments");
  }
  for (const ir::Function& function : module.functions) {
    if (function.is_entry() && function.is_mixed() && !kernels.at(kernel_name(function)).is_mixed())
      fail(function.line,
           "'" + shown(function.name) + "' is half a mixed kernel, and the other half is missing");
  }
  if (kernels.empty()) throw CompileError("the module has no kernel (no function with 'hacc.entry')");
  return kernels;
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
