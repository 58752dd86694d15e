// Reading `affine_map<(d0)[s0, s1] -> (expr, ...)>`.
#pragma once
#include "hivm/ir.h"
#include "hivm/text.h"

namespace hivm {

// The cursor stands before "affine_map". Operators + - * mod floordiv ceildiv, with the usual precedence.
ir::AffineMap parse_affine_map(Cursor& cursor);

}  // namespace hivm
