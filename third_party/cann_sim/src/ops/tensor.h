// Operands of one operator call, as the engine keeps them.
#pragma once
#include <acl/acl.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace cann_sim::ops {

using Shape = std::vector<int64_t>;

// Bytes of one element; 0 for types that the engine does not have.
size_t element_bytes(aclDataType type);
const char* type_name(aclDataType type);

// The arithmetic that a type is computed in: f32, f16 and bf16 in float (and then rounded), f64 in double,
// integers and bool in int64 (and then wrapped).
enum class Arithmetic { Float, Double, Integer };
Arithmetic arithmetic_of(aclDataType type);

int64_t count_of(const Shape& shape);
// "[4, 5]"
std::string text_of(const Shape& shape);

// Contiguous elements. A constant that torch_npu placed on the host (scalars, axes, sizes) was copied when
// the call was made: it is gone when the task runs. Everything else is device memory, to be touched only
// while the task runs.
struct Tensor {
  aclDataType type = ACL_DT_UNDEFINED;
  Shape shape;
  std::string name;
  std::byte* data = nullptr;
  size_t buffer_bytes = 0;                           // what the caller says there is; may exceed bytes()
  std::shared_ptr<std::vector<std::byte>> constant;  // owns `data` when placed on the host

  int64_t count() const { return count_of(shape); }
  size_t bytes() const { return static_cast<size_t>(count()) * element_bytes(type); }
  bool on_host() const { return constant != nullptr; }
};

// The values of a host constant. Throw InvalidCall (see registry.h) for device memory: it cannot be read
// before the task runs.
std::vector<int64_t> integers_of(const Tensor& tensor);
int64_t integer_of(const Tensor& tensor);
double number_of(const Tensor& tensor);

}  // namespace cann_sim::ops
