// Which device the calling thread uses. A device is a number; its context is a handle with nothing behind it.
#pragma once
#include <acl/acl.h>

namespace cann_sim {

// The thread's device; 0 before the thread has chosen one.
int current_device();
bool has_current_device();
aclError choose_device(int device);  // ACL_ERROR_RT_INVALID_DEVICEID outside 0..count-1

}  // namespace cann_sim
