#include "device_runtime.h"

#include <utility>

namespace tat {
namespace {

std::string describe(const std::string& call, int code, const std::string& detail) {
  std::string text = call + " failed with code " + std::to_string(code);
  return detail.empty() ? text : text + ": " + detail;
}

}  // namespace

DeviceError::DeviceError(std::string call, int code, std::string detail)
    : std::runtime_error(describe(call, code, detail)),
      call_(std::move(call)),
      code_(code),
      detail_(std::move(detail)) {}

}  // namespace tat
