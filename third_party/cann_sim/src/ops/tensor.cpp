#include "ops/tensor.h"

#include "ops/convert.h"
#include "ops/registry.h"

namespace cann_sim::ops {

size_t element_bytes(aclDataType type) {
  switch (type) {
    case ACL_INT8:
    case ACL_UINT8:
    case ACL_BOOL:
      return 1;
    case ACL_FLOAT16:
    case ACL_BF16:
    case ACL_INT16:
    case ACL_UINT16:
      return 2;
    case ACL_FLOAT:
    case ACL_INT32:
    case ACL_UINT32:
      return 4;
    case ACL_INT64:
    case ACL_UINT64:
    case ACL_DOUBLE:
      return 8;
    default:
      return 0;
  }
}

const char* type_name(aclDataType type) {
  switch (type) {
    case ACL_FLOAT:
      return "float32";
    case ACL_FLOAT16:
      return "float16";
    case ACL_BF16:
      return "bfloat16";
    case ACL_DOUBLE:
      return "float64";
    case ACL_INT8:
      return "int8";
    case ACL_UINT8:
      return "uint8";
    case ACL_INT16:
      return "int16";
    case ACL_UINT16:
      return "uint16";
    case ACL_INT32:
      return "int32";
    case ACL_UINT32:
      return "uint32";
    case ACL_INT64:
      return "int64";
    case ACL_UINT64:
      return "uint64";
    case ACL_BOOL:
      return "bool";
    default:
      return "an unknown type";
  }
}

Arithmetic arithmetic_of(aclDataType type) {
  switch (type) {
    case ACL_FLOAT:
    case ACL_FLOAT16:
    case ACL_BF16:
      return Arithmetic::Float;
    case ACL_DOUBLE:
      return Arithmetic::Double;
    default:
      return Arithmetic::Integer;
  }
}

int64_t count_of(const Shape& shape) {
  int64_t count = 1;
  for (int64_t size : shape) count *= size;
  return count;
}

std::string text_of(const Shape& shape) {
  std::string text = "[";
  for (int64_t size : shape) text += (text.size() > 1 ? ", " : "") + std::to_string(size);
  return text + "]";
}

std::vector<int64_t> integers_of(const Tensor& tensor) {
  if (!tensor.on_host()) throw InvalidCall("a constant input is expected on the host, not in device memory");
  std::vector<int64_t> values(static_cast<size_t>(tensor.count()));
  load(tensor.type, tensor.data, 0, tensor.count(), values.data());
  return values;
}

int64_t integer_of(const Tensor& tensor) {
  auto values = integers_of(tensor);
  if (values.empty()) throw InvalidCall("a constant input is empty where one value is expected");
  return values[0];
}

double number_of(const Tensor& tensor) {
  if (!tensor.on_host()) throw InvalidCall("a constant input is expected on the host, not in device memory");
  if (tensor.count() < 1) throw InvalidCall("a constant input is empty where one value is expected");
  double value = 0;
  load(tensor.type, tensor.data, 0, 1, &value);
  return value;
}

}  // namespace cann_sim::ops
