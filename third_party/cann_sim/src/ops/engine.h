// What both ways of calling an operator share.
#pragma once
#include <cstdint>

#include "ops/registry.h"

namespace cann_sim::ops {

// Vector cores that share the work of a call.
uint32_t blocks_of(const Call& call);

}  // namespace cann_sim::ops
