// From module text to ir::Module.
#pragma once
#include <string_view>

#include "hivm/ir.h"
#include "hivm/text.h"

namespace hivm {

// Throws CompileError with the line for anything that is not understood. The result points into `text`.
ir::Module parse_module(std::string_view text);

ir::Type parse_type(Cursor& cursor);

// One operation without its regions; `cursor` stands behind its name. `names` owns made-up result names.
// Throws when the operation is unknown. Returns whether a region must follow.
bool parse_operation(ir::Op& op, Cursor& cursor);

}  // namespace hivm
