// Copies and fills as tasks.
#pragma once
#include <acl/acl.h>

#include "runtime/task.h"

namespace cann_sim {

// Checks sizes and addresses, then makes the task. Errors: a size above the capacity of the target, a null
// address, a device side (as `kind` says) that is not device memory. Device memory of kind ACL_MEMCPY_DEFAULT
// is recognised by its address.
aclError make_copy(const char* call, void* to, size_t capacity, const void* from, size_t bytes,
                   aclrtMemcpyKind kind, Task* task);
// Fills with the low byte of `value`; zero costs no real memory.
aclError make_fill(const char* call, void* to, size_t capacity, int32_t value, size_t bytes, Task* task);

}  // namespace cann_sim
