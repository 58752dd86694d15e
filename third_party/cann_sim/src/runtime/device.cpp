#include "runtime/device.h"

#include "runtime/config.h"
#include "runtime/errors.h"

namespace cann_sim {
namespace {

thread_local int device_of_thread = -1;

}  // namespace

int current_device() { return device_of_thread < 0 ? 0 : device_of_thread; }

bool has_current_device() { return device_of_thread >= 0; }

aclError choose_device(int device) {
  if (device < 0 || device >= config().devices) {
    return set_error(ACL_ERROR_RT_INVALID_DEVICEID, "device " + std::to_string(device) +
                                                        " does not exist; there are " +
                                                        std::to_string(config().devices));
  }
  device_of_thread = device;
  return ACL_SUCCESS;
}

}  // namespace cann_sim
