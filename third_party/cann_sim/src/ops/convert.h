// Elements in memory <-> the arithmetic they are computed in.
#pragma once
#include <acl/acl.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "ops/tensor.h"

namespace cann_sim::ops {

// Elements [first, first + n) of an array of `type`. C is float, double or int64_t. A float that becomes an
// integer is truncated, out of range it saturates, NaN gives 0. An integer that is stored in fewer bits
// wraps. Anything that is not 0 becomes true.
template <class C>
void load(aclDataType type, const std::byte* array, int64_t first, int64_t n, C* values);
template <class C>
void store(aclDataType type, std::byte* array, int64_t first, int64_t n, const C* values);

extern template void load(aclDataType, const std::byte*, int64_t, int64_t, float*);
extern template void load(aclDataType, const std::byte*, int64_t, int64_t, double*);
extern template void load(aclDataType, const std::byte*, int64_t, int64_t, int64_t*);
extern template void store(aclDataType, std::byte*, int64_t, int64_t, const float*);
extern template void store(aclDataType, std::byte*, int64_t, int64_t, const double*);
extern template void store(aclDataType, std::byte*, int64_t, int64_t, const int64_t*);

// All elements of a tensor.
template <class C>
std::vector<C> read_all(const Tensor& tensor) {
  std::vector<C> values(static_cast<size_t>(tensor.count()));
  load(tensor.type, tensor.data, 0, tensor.count(), values.data());
  return values;
}
// Stores one value for each element of the tensor.
template <class C>
void write_all(const Tensor& tensor, const std::vector<C>& values) {
  store(tensor.type, tensor.data, 0, tensor.count(), values.data());
}

}  // namespace cann_sim::ops
