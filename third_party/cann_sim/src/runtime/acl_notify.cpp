// acl: what can hold a stream: notifies and values in memory.
#include <acl/acl.h>

#include "runtime/device.h"
#include "runtime/engine.h"
#include "runtime/faults.h"
#include "runtime/runtime.h"

using namespace cann_sim;

namespace {

Engine& engine() { return runtime().engine(); }

aclError check_value(const char* call, void* address, bool flag_valid, uint32_t flag) {
  const std::string name(call);
  if (faults().no_value())
    return set_error(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, name + ": refused on demand (CANN_SIM_FAULTS)");
  if (!address) return set_error(ACL_ERROR_INVALID_PARAM, name + ": devAddr is null");
  if (!flag_valid)
    return set_error(ACL_ERROR_RT_PARAM_INVALID, name + ": unknown flag " + std::to_string(flag));
  if (reinterpret_cast<uintptr_t>(address) % sizeof(uint64_t) != 0) {
    return set_error(ACL_ERROR_RT_ADDR_UNALIGNED, name + ": devAddr is not aligned to 8 bytes");
  }
  if (!runtime().memory().contains(address, static_cast<uint64_t*>(address) + 1)) {
    return set_error(ACL_ERROR_RT_PARAM_INVALID, name + ": devAddr is not device memory");
  }
  return ACL_SUCCESS;
}

}  // namespace

extern "C" {

aclError aclrtCreateNotify(aclrtNotify* notify, uint64_t flag) {
  if (faults().no_notify()) {
    return set_error(ACL_ERROR_RT_FEATURE_NOT_SUPPORT,
                     "aclrtCreateNotify: refused on demand (CANN_SIM_FAULTS)");
  }
  if (flag != ACL_NOTIFY_DEFAULT && flag != ACL_NOTIFY_DEVICE_USE_ONLY) {
    return set_error(ACL_ERROR_RT_PARAM_INVALID, "aclrtCreateNotify: unknown flag " + std::to_string(flag));
  }
  return engine().create_notify(notify);
}

aclError aclrtDestroyNotify(aclrtNotify notify) { return engine().destroy_notify(notify); }

aclError aclrtGetNotifyId(aclrtNotify notify, uint32_t* number) {
  return engine().notify_number(notify, number);
}

aclError aclrtRecordNotify(aclrtNotify notify, aclrtStream stream) {
  return engine().record_notify(current_device(), notify, stream);
}

// timeout: milliseconds, 0 = none.
aclError aclrtWaitAndResetNotify(aclrtNotify notify, aclrtStream stream, uint32_t timeout_ms) {
  return engine().wait_notify(current_device(), notify, stream, timeout_ms);
}

aclError aclrtValueWrite(void* address, uint64_t value, uint32_t flag, aclrtStream stream) {
  if (const aclError error = check_value("aclrtValueWrite", address, flag == 0, flag)) return error;
  return engine().write_value(current_device(), address, value, stream);
}

aclError aclrtValueWait(void* address, uint64_t value, uint32_t flag, aclrtStream stream) {
  if (const aclError error = check_value("aclrtValueWait", address, flag <= ACL_STREAM_WAIT_VALUE_NOR, flag))
    return error;
  return engine().wait_value(current_device(), address, value, flag, stream);
}

}  // extern "C"
