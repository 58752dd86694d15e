#include "ops/aclnn_objects.h"

#include <cstring>

#include "ops/convert.h"
#include "runtime/errors.h"

using namespace cann_sim;

extern "C" {

aclTensor* aclCreateTensor(const int64_t* shape, uint64_t rank, aclDataType type, const int64_t* strides,
                           int64_t offset, aclFormat, const int64_t*, uint64_t, void* data) {
  if (rank > 0 && (!shape || !strides)) {
    set_error(ACL_ERROR_INVALID_PARAM, "aclCreateTensor: the shape or the strides are null");
    return nullptr;
  }
  auto* tensor = new aclTensor;
  tensor->type = type;
  tensor->shape.assign(shape, shape + rank);
  tensor->strides.assign(strides, strides + rank);
  tensor->offset = offset;
  tensor->data = data;
  return tensor;
}
int aclDestroyTensor(const aclTensor* tensor) {
  delete tensor;
  return ACL_SUCCESS;
}

aclScalar* aclCreateScalar(void* value, aclDataType type) {
  if (!value || ops::element_bytes(type) == 0) {
    set_error(ACL_ERROR_INVALID_PARAM, "aclCreateScalar: the value is null or its type is unknown");
    return nullptr;
  }
  auto* scalar = new aclScalar;
  ops::load(type, static_cast<const std::byte*>(value), 0, 1, &scalar->value);
  return scalar;
}
int aclDestroyScalar(const aclScalar* scalar) {
  delete scalar;
  return ACL_SUCCESS;
}

aclIntArray* aclCreateIntArray(const int64_t* values, uint64_t size) {
  if (size > 0 && !values) {
    set_error(ACL_ERROR_INVALID_PARAM, "aclCreateIntArray: the values are null");
    return nullptr;
  }
  return new aclIntArray{{values, values + size}};
}
int aclDestroyIntArray(const aclIntArray* array) {
  delete array;
  return ACL_SUCCESS;
}

}  // extern "C"
