#include "ops/indices.h"

#include "runtime/task.h"

namespace cann_sim::ops {

void check_indices(const Tensor& indices) {
  if (arithmetic_of(indices.type) != Arithmetic::Integer || indices.type == ACL_BOOL)
    throw InvalidCall(std::string("indices must be integers, not ") + type_name(indices.type),
                      ACL_ERROR_UNSUPPORTED_DATA_TYPE);
}

int64_t checked_index(const std::string& operator_type, int64_t index, int64_t size) {
  if (index < -size || index >= size)
    throw DeviceError(ACL_ERROR_RT_AICORE_EXCEPTION,
                      "operator " + operator_type + ": index " + std::to_string(index) +
                          " is outside a dimension of " + std::to_string(size));
  return index < 0 ? index + size : index;
}

}  // namespace cann_sim::ops
