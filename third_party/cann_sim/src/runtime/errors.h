// Error texts for aclGetRecentErrMsg, one per thread as in ACL.
#pragma once
#include <acl/acl.h>

#include <stdexcept>
#include <string>

namespace cann_sim {

// A call with a wrong argument; turned into its code and text at the boundary of the engine.
class CallError : public std::runtime_error {
 public:
  CallError(aclError code, const std::string& message) : runtime_error(message), code_(code) {}
  aclError code() const { return code_; }

 private:
  aclError code_;
};

// Sets the thread's error text and returns `code`: `return set_error(ACL_ERROR_INVALID_PARAM, "aclrtMalloc:
// size is 0")`.
aclError set_error(aclError code, const std::string& message);

// The thread's last error text, then forgotten; nullptr if there is none. Valid until the thread's next call.
const char* take_error();

}  // namespace cann_sim
