// Writes a shared library without a compiler or linker: functions `int64_t f(void)` that return constants,
// for x86-64 Linux.
//
// triton-ascend loads lib<kernel>.so and asks its functions for the task type, the workspace and so on.
// Starting a compiler for that would cost more than all the rest of hivmc.
#pragma once
#include <string>
#include <vector>

#include "hivm/kernel.h"

namespace hivm {

// The bytes of an ELF64 file with `soname` that exports every function. Names must be distinct.
std::string constant_library(const std::string& soname, const std::vector<HostConstant>& functions);

}  // namespace hivm
