// The CUDA driver, resolved from libcuda.so.1 when it is first needed. For kernels of stock Triton on NVIDIA
// GPUs, on which the measuring loop can be proved; see TRITON_ASCEND_TUNE_TARGETS.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cuda_subset.h"
#include "device_runtime.h"
#include "stream_gate.h"

namespace tat {

// The functions of the driver. Throws LibraryError if the library cannot be loaded or lacks a function of
// TAT_CUDA_FUNCTIONS; those of TAT_CUDA_GATE_FUNCTIONS may be missing and are null then.
class CudaLibrary {
 public:
  explicit CudaLibrary(const std::string& library);

#define TAT_CUDA_MEMBER(name) decltype(&cuda::name) name = nullptr;
  TAT_CUDA_FUNCTIONS(TAT_CUDA_MEMBER)
  TAT_CUDA_GATE_FUNCTIONS(TAT_CUDA_MEMBER)
#undef TAT_CUDA_MEMBER

  // Throws DeviceError unless code is success.
  void check(const char* call, cuda::CUresult code) const;
};

// Works in the calling thread's current context, which torch sets to the device's primary one.
class CudaRuntime final : public DeviceRuntime {
 public:
  explicit CudaRuntime(const std::string& library = "libcuda.so.1");

  Event create_event() override;
  void destroy_event(Event event) noexcept override;
  void record_event(Event event, Stream stream) override;
  bool query_event(Event event) override;
  void synchronize_event(Event event) override;
  void synchronize_stream(Stream stream) override;
  double elapsed_ms(Event start, Event end) override;
  Stream create_stream() override;
  void destroy_stream(Stream stream) noexcept override;
  // "value", as far as the driver has its functions.
  std::vector<std::string> gate_kinds() const override;
  std::unique_ptr<StreamGate> make_gate(const std::string& kind) override;

 private:
  std::shared_ptr<const CudaLibrary> cuda_;  // shared with the gates
};

}  // namespace tat
