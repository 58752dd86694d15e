// From a parsed entry function to executable code.
#pragma once
#include "hivm/code.h"
#include "hivm/ir.h"

namespace hivm {

// Resolves names to slots, finds the micro-kernels and computes what is constant. Throws CompileError naming
// the first operation or micro-kernel that is not supported, with its line.
Code lower_function(const ir::Module& module, const ir::Function& function);

}  // namespace hivm
