// What a core needs to execute a function: its slots, filled with constants and the launch's arguments.
#pragma once
#include "hivm/code.h"
#include "hivm/execution_core.h"
#include "hivm/kernel.h"

namespace hivm {

Frame make_frame(const Code& code, ExecutionCore& core);
// Throws ExecutionError when the launch passes fewer or more bytes than the function takes.
void decode_arguments(const Code& code, const Launch& launch, Frame& frame);

}  // namespace hivm
