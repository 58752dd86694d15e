// The part of the CUDA driver interface that this project calls, declared on its own so that a build needs no
// CUDA.
//
// Nothing here is defined or linked: csrc/cuda_runtime resolves the functions from libcuda.so.1 at run time
// and takes only their types from here. Where the driver exports a function under a versioned name, that name
// is the one here.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tat::cuda {

using CUresult = int;
using CUevent = void*;
using CUstream = void*;
using CUdeviceptr = unsigned long long;

constexpr CUresult kCudaSuccess = 0;                 // CUDA_SUCCESS
constexpr CUresult kCudaNotReady = 600;              // CUDA_ERROR_NOT_READY
constexpr unsigned int kCudaEventDefault = 0;        // CU_EVENT_DEFAULT: with timing
constexpr unsigned int kCudaStreamNonBlocking = 1;   // CU_STREAM_NON_BLOCKING
constexpr unsigned int kCudaHostAllocDeviceMap = 2;  // CU_MEMHOSTALLOC_DEVICEMAP
constexpr unsigned int kCudaWaitValueGeq = 0;  // CU_STREAM_WAIT_VALUE_GEQ: cyclic, by the signed difference

CUresult cuEventCreate(CUevent* event, unsigned int flags);
CUresult cuEventDestroy_v2(CUevent event);
CUresult cuEventRecord(CUevent event, CUstream stream);
CUresult cuEventQuery(CUevent event);
CUresult cuEventSynchronize(CUevent event);
CUresult cuEventElapsedTime(float* ms, CUevent start, CUevent end);
CUresult cuStreamCreate(CUstream* stream, unsigned int flags);
CUresult cuStreamDestroy_v2(CUstream stream);
CUresult cuStreamSynchronize(CUstream stream);
CUresult cuGetErrorString(CUresult code, const char** text);

// What the gate is made of. A driver may lack them: then there is no gate.
CUresult cuMemHostAlloc(void** address, size_t bytes, unsigned int flags);
CUresult cuMemFreeHost(void* address);
CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr* pointer, void* address, unsigned int flags);
CUresult cuStreamWaitValue32_v2(CUstream stream, CUdeviceptr address, uint32_t value, unsigned int flags);

}  // namespace tat::cuda

// Every function above: first those that measuring cannot do without, then those of the gate.
#define TAT_CUDA_FUNCTIONS(X) \
  X(cuEventCreate)            \
  X(cuEventDestroy_v2)        \
  X(cuEventRecord)            \
  X(cuEventQuery)             \
  X(cuEventSynchronize)       \
  X(cuEventElapsedTime)       \
  X(cuStreamCreate)           \
  X(cuStreamDestroy_v2)       \
  X(cuStreamSynchronize)      \
  X(cuGetErrorString)
#define TAT_CUDA_GATE_FUNCTIONS(X) \
  X(cuMemHostAlloc)                \
  X(cuMemFreeHost)                 \
  X(cuMemHostGetDevicePointer_v2)  \
  X(cuStreamWaitValue32_v2)
