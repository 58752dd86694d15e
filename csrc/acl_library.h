// The functions of libascendcl.so, resolved when the library is first needed.
#pragma once

#include <string>

#include "acl_subset.h"

namespace tat {

class AclLibrary {
 public:
  // library: a soname, or the path of a file. Throws LibraryError if it cannot be loaded or lacks a function
  // of TAT_ACL_FUNCTIONS; those of TAT_ACL_GATE_FUNCTIONS may be missing and are null then. The library is
  // never unloaded: torch_npu uses the same one, and its threads outlive this object.
  explicit AclLibrary(const std::string& library);

#define TAT_ACL_MEMBER(name) decltype(&acl::name) name = nullptr;
  TAT_ACL_FUNCTIONS(TAT_ACL_MEMBER)
  TAT_ACL_GATE_FUNCTIONS(TAT_ACL_MEMBER)
#undef TAT_ACL_MEMBER
  // Only the simulated CANN has it.
  const char* (*cann_sim_version)() = nullptr;

  // The file that was loaded.
  std::string path;

  // Throws DeviceError unless code is success.
  void check(const char* call, acl::aclError code) const;
};

}  // namespace tat
