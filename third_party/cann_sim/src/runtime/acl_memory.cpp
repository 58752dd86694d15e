// acl: memory, copies and fills.
#include <acl/acl.h>

#include "runtime/copies.h"
#include "runtime/device.h"
#include "runtime/engine.h"
#include "runtime/runtime.h"

using namespace cann_sim;

extern "C" {

aclError aclrtMalloc(void** address, size_t bytes, aclrtMemMallocPolicy) {
  if (const aclError error = runtime().engine().check_device(current_device())) return error;
  return runtime().memory().allocate(current_device(), bytes, address);
}

aclError aclrtMallocAlign32(void** address, size_t bytes,
                            aclrtMemMallocPolicy policy) {  // pages are aligned to more
  return aclrtMalloc(address, bytes, policy);
}

aclError aclrtFree(void* address) { return runtime().memory().release(address); }

aclError aclrtMallocHost(void** address, size_t bytes) {
  return runtime().memory().allocate_host(bytes, address);
}

aclError aclrtFreeHost(void* address) { return runtime().memory().release_host(address); }

aclError aclrtGetMemInfo(aclrtMemAttr, size_t* free, size_t* total) {
  if (!free || !total) return set_error(ACL_ERROR_INVALID_PARAM, "aclrtGetMemInfo: free or total is null");
  *total = runtime().memory().capacity();
  *free = *total - runtime().memory().used(current_device());
  return ACL_SUCCESS;
}

aclError aclrtMemcpy(void* to, size_t capacity, const void* from, size_t bytes, aclrtMemcpyKind kind) {
  Task task;
  if (const aclError error = make_copy("aclrtMemcpy", to, capacity, from, bytes, kind, &task)) return error;
  return runtime().engine().run_on_host(current_device(), std::move(task));
}

aclError aclrtMemcpyAsync(void* to, size_t capacity, const void* from, size_t bytes, aclrtMemcpyKind kind,
                          aclrtStream stream) {
  Task task;
  if (const aclError error = make_copy("aclrtMemcpyAsync", to, capacity, from, bytes, kind, &task))
    return error;
  return runtime().submit(stream, std::move(task));
}

aclError aclrtMemset(void* to, size_t capacity, int32_t value, size_t bytes) {
  Task task;
  if (const aclError error = make_fill("aclrtMemset", to, capacity, value, bytes, &task)) return error;
  return runtime().engine().run_on_host(current_device(), std::move(task));
}

aclError aclrtMemsetAsync(void* to, size_t capacity, int32_t value, size_t bytes, aclrtStream stream) {
  Task task;
  if (const aclError error = make_fill("aclrtMemsetAsync", to, capacity, value, bytes, &task)) return error;
  return runtime().submit(stream, std::move(task));
}

}  // extern "C"
