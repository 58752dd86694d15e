// acl: devices, contexts, the process.
#include <acl/acl.h>
#include <acl/acl_op_compiler.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "runtime/device.h"
#include "runtime/engine.h"
#include "runtime/runtime.h"
#include "runtime/soc.h"

using namespace cann_sim;

namespace {

// A context is the address of its device's element.
char contexts[64];

aclError check_device(const char* call, int64_t device) {
  if (device >= 0 && device < config().devices) return ACL_SUCCESS;
  return set_error(ACL_ERROR_RT_INVALID_DEVICEID, std::string(call) + ": device " + std::to_string(device) +
                                                      " does not exist; there are " +
                                                      std::to_string(config().devices));
}

aclError null_argument(const char* call, const char* name) {
  return set_error(ACL_ERROR_INVALID_PARAM, std::string(call) + ": " + name + " is null");
}

}  // namespace

extern "C" {

aclError aclInit(const char*) {
  if (!config().problem.empty()) return set_error(ACL_ERROR_INVALID_PARAM, config().problem);
  runtime();
  return ACL_SUCCESS;
}

aclError aclFinalize() {
  runtime().flush_log();
  return ACL_SUCCESS;
}

const char* aclGetRecentErrMsg() { return take_error(); }

aclError aclrtSetDevice(int32_t device) { return choose_device(device); }

aclError aclrtGetDevice(int32_t* device) {
  if (!device) return null_argument("aclrtGetDevice", "deviceId");
  if (!has_current_device()) {
    return set_error(ACL_ERROR_RT_CONTEXT_NULL, "aclrtGetDevice: this thread has not called aclrtSetDevice");
  }
  *device = current_device();
  return ACL_SUCCESS;
}

aclError aclrtResetDevice(int32_t device) {
  if (const aclError error = check_device("aclrtResetDevice", device)) return error;
  if (runtime().engine().check_device(device) == ACL_SUCCESS)
    return runtime().engine().synchronize_device(device, -1);
  return runtime().engine().reset_device(device);
}

aclError aclrtGetDeviceCount(uint32_t* count) {
  if (!count) return null_argument("aclrtGetDeviceCount", "count");
  *count = static_cast<uint32_t>(config().devices);
  return ACL_SUCCESS;
}

const char* aclrtGetSocName() { return soc().name; }

aclError aclGetDeviceCapability(uint32_t device, aclDeviceInfo what, int64_t* value) {
  if (!value) return null_argument("aclGetDeviceCapability", "value");
  if (const aclError error = check_device("aclGetDeviceCapability", device)) return error;
  switch (what) {
    case ACL_DEVICE_INFO_AI_CORE_NUM:
      *value = soc().machine.cube_cores;
      return ACL_SUCCESS;
    case ACL_DEVICE_INFO_VECTOR_CORE_NUM:
      *value = soc().machine.vector_cores;
      return ACL_SUCCESS;
    case ACL_DEVICE_INFO_L2_SIZE:
      *value = static_cast<int64_t>(soc().l2_bytes);
      return ACL_SUCCESS;
    default:
      return set_error(ACL_ERROR_INVALID_PARAM, "aclGetDeviceCapability: unknown capability " +
                                                    std::to_string(static_cast<int>(what)));
  }
}

aclError aclrtGetCurrentContext(aclrtContext* context) {
  if (!context) return null_argument("aclrtGetCurrentContext", "context");
  if (!has_current_device()) {
    return set_error(ACL_ERROR_RT_CONTEXT_NULL,
                     "aclrtGetCurrentContext: this thread has not called aclrtSetDevice");
  }
  *context = &contexts[current_device()];
  return ACL_SUCCESS;
}

aclError aclrtSetCurrentContext(aclrtContext context) {
  const auto* element = static_cast<const char*>(context);
  if (element < contexts || element >= contexts + config().devices) {
    return set_error(ACL_ERROR_RT_INVALID_HANDLE, "aclrtSetCurrentContext: no context of a device");
  }
  return choose_device(static_cast<int>(element - contexts));
}

aclError aclrtSynchronizeDevice() { return runtime().engine().synchronize_device(current_device(), -1); }

aclError aclrtSynchronizeDeviceWithTimeout(int32_t timeout_ms) {
  return runtime().engine().synchronize_device(current_device(), timeout_ms);
}

// Every device can reach every other one, as those of one server do.
aclError aclrtDeviceCanAccessPeer(int32_t* can, int32_t device, int32_t peer) {
  if (!can) return null_argument("aclrtDeviceCanAccessPeer", "canAccessPeer");
  if (const aclError error = check_device("aclrtDeviceCanAccessPeer", device)) return error;
  if (const aclError error = check_device("aclrtDeviceCanAccessPeer", peer)) return error;
  *can = device != peer;
  return ACL_SUCCESS;
}

// The current device may touch the memory of `peer` from now on.
aclError aclrtDeviceEnablePeerAccess(int32_t peer, uint32_t) {
  if (const aclError error = check_device("aclrtDeviceEnablePeerAccess", peer)) return error;
  runtime().memory().enable_peer(current_device(), peer);
  return ACL_SUCCESS;
}

aclError aclrtDeviceGetBareTgid(int32_t* pid) {
  if (!pid) return null_argument("aclrtDeviceGetBareTgid", "pid");
  *pid = getpid();
  return ACL_SUCCESS;
}

// torch_npu polls this from a thread of its own. No callback is ever due; it waits in real time, or the
// thread would spin.
aclError aclrtProcessReport(int32_t timeout_ms) {
  std::this_thread::sleep_for(std::chrono::milliseconds(std::clamp(timeout_ms, 0, 10)));
  return ACL_SUCCESS;
}

void aclAppLog(aclLogLevel, const char*, const char*, uint32_t, const char*, ...) {}

}  // extern "C"
