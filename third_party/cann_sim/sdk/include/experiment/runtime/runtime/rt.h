// The low-level runtime interface, as far as triton-ascend 3.2.0 compiles against it (npu_utils.cpp and the
// launchers). Names and argument types follow from those callers. Constant values are this project's own:
// caller and callee are both built from this file.
#pragma once

#include <stddef.h>
#include <stdint.h>

// The callers use strcmp, std::runtime_error and the Msprof* interface but include only this file.
#include <string.h>

#include <stdexcept>

#include "profiling/prof_api.h"  // of the torch-npu wheel

// Task types of the profiler that the wheel's shortened profiling header leaves out.
#define MSPROF_GE_TASK_TYPE_AIV 2
#define MSPROF_GE_TASK_TYPE_MIX_AIC 4
#define MSPROF_GE_TASK_TYPE_MIX_AIV 5

typedef int32_t rtError_t;
#define RT_ERROR_NONE 0

typedef void* rtStream_t;  // interchangeable with aclrtStream

// What a registered binary holds: vector code only, or code for the cube (alone or mixed).
#define RT_DEV_BINARY_MAGIC_ELF 0x43554245
#define RT_DEV_BINARY_MAGIC_ELF_AIVEC 0x41415246

typedef struct {
  uint32_t magic;
  uint32_t version;
  const void* data;  // owned by the caller and only valid during the call
  uint64_t length;   // bytes
} rtDevBinary_t;

#define RT_MEMORY_HBM 1
#define RT_MEMORY_HOST 2

typedef enum { RT_MEMCPY_HOST_TO_DEVICE, RT_MEMCPY_DEVICE_TO_HOST } rtMemcpyKind_t;

typedef enum {
  RT_LIMIT_TYPE_LOW_POWER_TIMEOUT,
  RT_LIMIT_TYPE_STACK_SIZE,
  RT_LIMIT_TYPE_SIMT_WARP_STACK_SIZE,
  RT_LIMIT_TYPE_SIMT_DVG_WARP_STACK_SIZE
} rtLimitType_t;

extern "C" {

rtError_t rtSetDevice(int32_t device);
rtError_t rtGetSocVersion(char* text, uint32_t capacity);
rtError_t rtGetAiCoreCount(uint32_t* count);
rtError_t rtDeviceSetLimit(int32_t device, rtLimitType_t limit, uint32_t value);

// `stub` identifies the function in launches; `entry_name` is a C string, the symbol inside the binary.
rtError_t rtDevBinaryRegister(const rtDevBinary_t* binary, void** handle);
rtError_t rtFunctionRegister(void* handle, const void* stub, const char* stub_name, const void* entry_name,
                             uint32_t mode);
rtError_t rtGetC2cCtrlAddr(uint64_t* address, uint32_t* length);
rtError_t rtKernelLaunch(const void* stub, uint32_t blocks, void* arguments, uint32_t argument_bytes,
                         void* sm_description, rtStream_t stream);

rtError_t rtStreamCreate(rtStream_t* stream, int32_t priority);
rtError_t rtStreamDestroy(rtStream_t stream);
rtError_t rtStreamSynchronize(rtStream_t stream);

rtError_t rtMalloc(void** address, uint64_t bytes, uint32_t kind, uint16_t module);
rtError_t rtFree(void* address);
rtError_t rtMallocHost(void** address, uint64_t bytes, uint16_t module);
rtError_t rtFreeHost(void* address);
rtError_t rtMemcpy(void* target, uint64_t target_bytes, const void* source, uint64_t bytes,
                   rtMemcpyKind_t kind);

}  // extern "C"
