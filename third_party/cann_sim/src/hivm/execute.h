// Running a launch: arguments, blocks on cores, the report.
#pragma once
#include "hivm/code.h"
#include "hivm/kernel.h"

namespace hivm {

// Throws ExecutionError.
Report execute(const KernelCode& kernel, const Launch& launch, const GlobalMemory& memory);

}  // namespace hivm
