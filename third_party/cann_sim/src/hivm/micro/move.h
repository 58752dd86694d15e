// Rows of elements moved as they are, whatever their type.
#pragma once
#include "hivm/micro/rows.h"
#include "hivm/micro/types.h"

namespace hivm::micro {

// A source stride of 0 fills the target with one element.
using MoveLoop = void (*)(const Lane& from, const Lane& to, int64_t n);

MoveLoop move_of(Type type);

}  // namespace hivm::micro
