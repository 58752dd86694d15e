#include "acl_library.h"

#include <dlfcn.h>

#include <type_traits>

#include "device_runtime.h"

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

AclLibrary::AclLibrary(const std::string& library) {
  void* handle = open_library(library);
  const auto find = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::decay_t<decltype(function)>>(dlsym(handle, name));
    return function != nullptr;
  };
  const auto require = [&](auto& function, const char* name) {
    if (!find(function, name)) {
      throw LibraryError("the Ascend runtime library " + library + " has no function " + name);
    }
  };
#define TAT_ACL_REQUIRE(name) require(this->name, #name);
#define TAT_ACL_FIND(name) find(this->name, #name);
  TAT_ACL_FUNCTIONS(TAT_ACL_REQUIRE)
  TAT_ACL_GATE_FUNCTIONS(TAT_ACL_FIND)
#undef TAT_ACL_REQUIRE
#undef TAT_ACL_FIND
  find(cann_sim_version, "cann_sim_version");
  path = path_of(reinterpret_cast<void*>(aclrtRecordEvent), library);
}

void AclLibrary::check(const char* call, acl::aclError code) const {
  if (code == acl::kAclSuccess) return;
  const char* detail = aclGetRecentErrMsg();
  throw DeviceError(call, code, detail ? detail : "");
}

}  // namespace tat
