#include "runtime/errors.h"

namespace cann_sim {
namespace {

thread_local std::string message, taken;

}  // namespace

aclError set_error(aclError code, const std::string& text) {
  message = text + " [" + std::to_string(code) + "]";
  return code;
}

const char* take_error() {
  if (message.empty()) return nullptr;
  taken.swap(message);
  message.clear();
  return taken.c_str();
}

}  // namespace cann_sim
