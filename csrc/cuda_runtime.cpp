#include "cuda_runtime.h"

#include <dlfcn.h>

#include <atomic>
#include <new>
#include <stdexcept>
#include <type_traits>
#include <utility>

namespace tat {
namespace {

// A counter in pinned host memory: the stream waits until it has grown, the host writes it. Releasing needs
// no call.
class CudaValueGate final : public StreamGate {
 public:
  explicit CudaValueGate(std::shared_ptr<const CudaLibrary> cuda) : cuda_(std::move(cuda)) {
    void* memory = nullptr;
    cuda_->check("cuMemHostAlloc", cuda_->cuMemHostAlloc(&memory, sizeof(std::atomic<uint32_t>),
                                                         cuda::kCudaHostAllocDeviceMap));
    counter_ = new (memory) std::atomic<uint32_t>(0);
    try {
      cuda_->check("cuMemHostGetDevicePointer", cuda_->cuMemHostGetDevicePointer_v2(&address_, memory, 0));
    } catch (...) {
      cuda_->cuMemFreeHost(memory);
      throw;
    }
  }
  ~CudaValueGate() override { cuda_->cuMemFreeHost(counter_); }
  CudaValueGate(const CudaValueGate&) = delete;
  CudaValueGate& operator=(const CudaValueGate&) = delete;

  static bool offered(const CudaLibrary& cuda) {
    return cuda.cuMemHostAlloc && cuda.cuMemFreeHost && cuda.cuMemHostGetDevicePointer_v2 &&
           cuda.cuStreamWaitValue32_v2;
  }

  void close(Stream stream) override {
    cuda_->check("cuStreamWaitValue32",
                 cuda_->cuStreamWaitValue32_v2(stream, address_, closed_ + 1, cuda::kCudaWaitValueGeq));
    ++closed_;
  }
  void open() override { counter_->store(closed_, std::memory_order_release); }
  bool bounded() const override { return false; }

 private:
  static_assert(sizeof(std::atomic<uint32_t>) == sizeof(uint32_t) &&
                std::atomic<uint32_t>::is_always_lock_free);

  std::shared_ptr<const CudaLibrary> cuda_;
  std::atomic<uint32_t>* counter_ = nullptr;
  cuda::CUdeviceptr address_ = 0;
  uint32_t closed_ = 0;  // how often
};

}  // namespace

CudaLibrary::CudaLibrary(const std::string& library) {
  // torch has loaded the driver; where it has not there is nothing to measure on. Never unloaded.
  void* handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    const char* text = dlerror();
    throw LibraryError("cannot load the CUDA driver " + library + ": " + (text ? text : "unknown reason"));
  }
  const auto find = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::decay_t<decltype(function)>>(dlsym(handle, name));
    return function != nullptr;
  };
  const auto require = [&](auto& function, const char* name) {
    if (!find(function, name)) throw LibraryError("the CUDA driver " + library + " has no function " + name);
  };
#define TAT_CUDA_REQUIRE(name) require(this->name, #name);
#define TAT_CUDA_FIND(name) find(this->name, #name);
  TAT_CUDA_FUNCTIONS(TAT_CUDA_REQUIRE)
  TAT_CUDA_GATE_FUNCTIONS(TAT_CUDA_FIND)
#undef TAT_CUDA_REQUIRE
#undef TAT_CUDA_FIND
}

void CudaLibrary::check(const char* call, cuda::CUresult code) const {
  if (code == cuda::kCudaSuccess) return;
  const char* text = nullptr;
  cuGetErrorString(code, &text);
  throw DeviceError(call, code, text ? text : "");
}

CudaRuntime::CudaRuntime(const std::string& library) : cuda_(std::make_shared<CudaLibrary>(library)) {}

Event CudaRuntime::create_event() {
  Event event = nullptr;
  cuda_->check("cuEventCreate", cuda_->cuEventCreate(&event, cuda::kCudaEventDefault));
  return event;
}

void CudaRuntime::destroy_event(Event event) noexcept { cuda_->cuEventDestroy_v2(event); }

void CudaRuntime::record_event(Event event, Stream stream) {
  cuda_->check("cuEventRecord", cuda_->cuEventRecord(event, stream));
}

bool CudaRuntime::query_event(Event event) {
  const cuda::CUresult code = cuda_->cuEventQuery(event);
  if (code == cuda::kCudaNotReady) return false;
  cuda_->check("cuEventQuery", code);
  return true;
}

void CudaRuntime::synchronize_event(Event event) {
  cuda_->check("cuEventSynchronize", cuda_->cuEventSynchronize(event));
}

void CudaRuntime::synchronize_stream(Stream stream) {
  cuda_->check("cuStreamSynchronize", cuda_->cuStreamSynchronize(stream));
}

double CudaRuntime::elapsed_ms(Event start, Event end) {
  float ms = 0;
  cuda_->check("cuEventElapsedTime", cuda_->cuEventElapsedTime(&ms, start, end));
  return ms;
}

Stream CudaRuntime::create_stream() {
  Stream stream = nullptr;
  cuda_->check("cuStreamCreate", cuda_->cuStreamCreate(&stream, cuda::kCudaStreamNonBlocking));
  return stream;
}

void CudaRuntime::destroy_stream(Stream stream) noexcept { cuda_->cuStreamDestroy_v2(stream); }

std::vector<std::string> CudaRuntime::gate_kinds() const {
  if (!CudaValueGate::offered(*cuda_)) return {};
  return {"value"};
}

std::unique_ptr<StreamGate> CudaRuntime::make_gate(const std::string& kind) {
  if (kind == "value" && CudaValueGate::offered(*cuda_)) return std::make_unique<CudaValueGate>(cuda_);
  throw std::invalid_argument("gate is '" + kind + "'; the CUDA driver offers value at most");
}

}  // namespace tat
