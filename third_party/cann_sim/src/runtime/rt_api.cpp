// rt*: the low-level runtime that triton-ascend's npu_utils.so and launchers call.
#include <acl/acl.h>

#include <cstdio>

#include "experiment/runtime/runtime/rt.h"
#include "runtime/copies.h"
#include "runtime/costs.h"
#include "runtime/device.h"
#include "runtime/engine.h"
#include "runtime/faults.h"
#include "runtime/kernels.h"
#include "runtime/launch_cache.h"
#include "runtime/runtime.h"
#include "runtime/soc.h"

using namespace cann_sim;

namespace {

// Under the engine's lock whenever it is used (Task::run).
LaunchCache& launches() {
  static LaunchCache* const once = new LaunchCache(costs::kLaunchCacheEntries);
  return *once;
}

rtError_t null_argument(const char* call, const char* name) {
  return set_error(ACL_ERROR_INVALID_PARAM, std::string(call) + ": " + name + " is null");
}

}  // namespace

extern "C" {

// ---- device
rtError_t rtSetDevice(int32_t device) { return choose_device(device); }

rtError_t rtGetSocVersion(char* text, uint32_t capacity) {
  if (!text) return null_argument("rtGetSocVersion", "text");
  const int length = std::snprintf(text, capacity, "%s", aclrtGetSocName());
  if (static_cast<uint32_t>(length) < capacity) return RT_ERROR_NONE;
  return set_error(ACL_ERROR_RT_PARAM_INVALID,
                   "rtGetSocVersion: " + std::to_string(capacity) + " bytes are too few");
}

rtError_t rtGetAiCoreCount(uint32_t* count) {
  if (!count) return null_argument("rtGetAiCoreCount", "count");
  *count = static_cast<uint32_t>(soc().machine.cube_cores);
  return RT_ERROR_NONE;
}

// Stack sizes and power limits do not exist here.
rtError_t rtDeviceSetLimit(int32_t, rtLimitType_t, uint32_t) { return RT_ERROR_NONE; }

// ---- kernels
rtError_t rtDevBinaryRegister(const rtDevBinary_t* binary, void** handle) {
  if (!binary) return null_argument("rtDevBinaryRegister", "binary");
  return kernels().add_binary(binary->data, binary->length, handle);
}

rtError_t rtFunctionRegister(void* handle, const void* stub, const char*, const void* entry_name, uint32_t) {
  return kernels().add_function(handle, stub, static_cast<const char*>(entry_name));
}

// The block that synchronises cube and vector cores. Kernels carry the address along and the executor does
// not use it.
rtError_t rtGetC2cCtrlAddr(uint64_t* address, uint32_t* length) {
  if (!address || !length) return null_argument("rtGetC2cCtrlAddr", "address or length");
  *address = 0x1000;
  *length = 8;
  return RT_ERROR_NONE;
}

rtError_t rtKernelLaunch(const void* stub, uint32_t blocks, void* args, uint32_t args_size, void*,
                         rtStream_t stream) {
  const auto function = kernels().find(stub);
  if (!function) {
    return set_error(ACL_ERROR_RT_KERNEL_LOOKUP, "rtKernelLaunch: no function is registered for the stub");
  }
  if (!args && args_size) return null_argument("rtKernelLaunch", "args");
  if (blocks == 0 || blocks > 65535) {
    return set_error(ACL_ERROR_RT_PARAM_INVALID, "rtKernelLaunch: kernel " + function->entry + ": " +
                                                     std::to_string(blocks) +
                                                     " blocks; 1 to 65535 are allowed");
  }
  if (faults().launch_fails(function->entry, blocks)) {
    return set_error(ACL_ERROR_RT_INTERNAL_ERROR,
                     "rtKernelLaunch: kernel " + function->entry + " is refused on demand (CANN_SIM_FAULTS)");
  }
  Task task;
  task.kind = TaskKind::Kernel;
  task.name = function->entry;
  task.blocks = blocks;
  task.run = [device = current_device(), function, blocks,
              arguments = std::string(static_cast<const char*>(args), args_size)] {
    return launches().run(device, *function, blocks, arguments, runtime().memory());
  };
  return runtime().submit(stream, std::move(task));
}

// ---- streams and memory
rtError_t rtStreamCreate(rtStream_t* stream, int32_t priority) {
  return runtime().engine().create_stream(current_device(), static_cast<uint32_t>(priority), 0, stream);
}

rtError_t rtStreamDestroy(rtStream_t stream) { return runtime().engine().destroy_stream(stream, false); }

rtError_t rtStreamSynchronize(rtStream_t stream) {
  return runtime().engine().synchronize_stream(current_device(), stream, -1);
}

rtError_t rtMalloc(void** address, uint64_t bytes, uint32_t, uint16_t) {
  return runtime().memory().allocate(current_device(), bytes, address);
}

rtError_t rtFree(void* address) { return runtime().memory().release(address); }

rtError_t rtMallocHost(void** address, uint64_t bytes, uint16_t) {
  return runtime().memory().allocate_host(bytes, address);
}

rtError_t rtFreeHost(void* address) { return runtime().memory().release_host(address); }

rtError_t rtMemcpy(void* to, uint64_t capacity, const void* from, uint64_t bytes, rtMemcpyKind_t kind) {
  const auto acl_kind =
      kind == RT_MEMCPY_DEVICE_TO_HOST ? ACL_MEMCPY_DEVICE_TO_HOST : ACL_MEMCPY_HOST_TO_DEVICE;
  Task task;
  if (const aclError error = make_copy("rtMemcpy", to, capacity, from, bytes, acl_kind, &task)) return error;
  return runtime().engine().run_on_host(current_device(), std::move(task));
}

}  // extern "C"
