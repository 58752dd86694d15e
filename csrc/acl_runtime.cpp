#include "acl_runtime.h"

#include <dlfcn.h>

namespace tat {
namespace {

std::string last_dl_error() {
  const char* text = dlerror();
  return text ? text : "unknown reason";
}

void* open_library(const std::string& library) {
  // torch_npu has normally loaded the library already, perhaps from a folder that is on no search path.
  if (void* handle = dlopen(library.c_str(), RTLD_NOW | RTLD_NOLOAD)) return handle;
  if (void* handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL)) return handle;
  throw LibraryError(
      "cannot load the Ascend runtime library " + library + ": " + last_dl_error() +
      ". Install CANN and add its lib64 folder to LD_LIBRARY_PATH (source set_env.sh), or run on "
      "the simulated CANN");
}

std::string path_of(void* symbol, const std::string& library) {
  Dl_info info;
  return dladdr(symbol, &info) && info.dli_fname ? info.dli_fname : library;
}

}  // namespace

AclRuntime::AclRuntime(const std::string& library) {
  void* handle = open_library(library);
  const auto resolve = [&](auto& function, const char* name) {
    void* symbol = dlsym(handle, name);
    if (!symbol) throw LibraryError("the Ascend runtime library " + library + " has no function " + name);
    function = reinterpret_cast<std::decay_t<decltype(function)>>(symbol);
  };
#define TAT_ACL_RESOLVE(name) resolve(acl_.name, #name);
  TAT_ACL_FUNCTIONS(TAT_ACL_RESOLVE)
#undef TAT_ACL_RESOLVE
  library_path_ = path_of(reinterpret_cast<void*>(acl_.aclrtRecordEvent), library);
  if (void* symbol = dlsym(handle, "cann_sim_version")) {
    simulator_version_ = reinterpret_cast<const char* (*)()>(symbol)();
  }
}

void AclRuntime::check(const char* call, acl::aclError code) const {
  if (code == acl::kAclSuccess) return;
  const char* detail = acl_.aclGetRecentErrMsg();
  throw DeviceError(call, code, detail ? detail : "");
}

Event AclRuntime::create_event() {
  Event event = nullptr;
  // The "Ex" kind may be recorded again without a reset, so that a pool can reuse it.
  check("aclrtCreateEventExWithFlag", acl_.aclrtCreateEventExWithFlag(&event, acl::kAclEventTimeLine));
  return event;
}

void AclRuntime::destroy_event(Event event) noexcept { acl_.aclrtDestroyEvent(event); }

void AclRuntime::record_event(Event event, Stream stream) {
  check("aclrtRecordEvent", acl_.aclrtRecordEvent(event, stream));
}

bool AclRuntime::query_event(Event event) {
  auto status = acl::ACL_EVENT_RECORDED_STATUS_NOT_READY;
  check("aclrtQueryEventStatus", acl_.aclrtQueryEventStatus(event, &status));
  return status == acl::ACL_EVENT_RECORDED_STATUS_COMPLETE;
}

void AclRuntime::synchronize_event(Event event) {
  check("aclrtSynchronizeEvent", acl_.aclrtSynchronizeEvent(event));
}

void AclRuntime::synchronize_stream(Stream stream) {
  check("aclrtSynchronizeStream", acl_.aclrtSynchronizeStream(stream));
}

double AclRuntime::elapsed_ms(Event start, Event end) {
  float ms = 0;
  check("aclrtEventElapsedTime", acl_.aclrtEventElapsedTime(&ms, start, end));
  return ms;
}

}  // namespace tat
