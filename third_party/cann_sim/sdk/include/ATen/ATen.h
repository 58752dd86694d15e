// A slim stand-in for torch's <ATen/ATen.h>, seen only by the launchers that triton-ascend compiles: the
// SDK's include folder comes before torch's there. The full header makes their precompiled header take half a
// minute and 400 MB. A launcher allocates its workspace with at::empty and keeps it in an at::Tensor; nothing
// else of torch is used.
#pragma once

#include <ATen/core/TensorBase.h>
#include <c10/core/ScalarType.h>
#include <c10/core/SymInt.h>
#include <c10/core/TensorOptions.h>
#include <c10/util/ArrayRef.h>

#include <cstdint>
#include <optional>
#include <utility>

namespace at {

// The real class adds methods to TensorBase, but neither data nor virtual functions.
class Tensor : public TensorBase {
 public:
  Tensor() = default;
  explicit Tensor(TensorBase base) : TensorBase(std::move(base)) {}
};

namespace _ops {
// Defined in libtorch_cpu; default visibility, since launchers take it from there.
struct __attribute__((visibility("default"))) empty_memory_format {
  static at::Tensor call(c10::ArrayRef<c10::SymInt> size, std::optional<c10::ScalarType> dtype,
                         std::optional<c10::Layout> layout, std::optional<c10::Device> device,
                         std::optional<bool> pin_memory, std::optional<c10::MemoryFormat> memory_format);
};
}  // namespace _ops

// A one-dimensional tensor of `elements`; what at::empty(IntArrayRef, TensorOptions) does for a single size.
inline Tensor empty(int64_t elements, c10::TensorOptions options) {
  const c10::SymInt size(elements);
  return _ops::empty_memory_format::call(size, c10::optTypeMetaToScalarType(options.dtype_opt()),
                                         options.layout_opt(), options.device_opt(),
                                         options.pinned_memory_opt(), std::nullopt);
}

}  // namespace at
