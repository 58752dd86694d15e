// What operators with index tensors share. An index outside its dimension is a device error.
#pragma once
#include <string>
#include <vector>

#include "ops/registry.h"

namespace cann_sim::ops {

// Throws InvalidCall unless the tensor holds integers.
void check_indices(const Tensor& indices);
// Negative indices count from the end. Throws DeviceError, which names the operator, outside [-size, size).
int64_t checked_index(const std::string& operator_type, int64_t index, int64_t size);

}  // namespace cann_sim::ops
