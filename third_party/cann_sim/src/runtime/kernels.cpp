#include "runtime/kernels.h"

#include "runtime/errors.h"

namespace cann_sim {

aclError Kernels::add_binary(const void* data, size_t bytes, void** handle) {
  if (!data || !handle)
    return set_error(ACL_ERROR_INVALID_PARAM, "rtDevBinaryRegister: data or handle is null");
  auto binary = std::make_shared<Binary>();
  try {
    binary->program = hivm::load_program({static_cast<const char*>(data), bytes});
  } catch (const std::exception& error) {
    return set_error(ACL_ERROR_RT_PARAM_INVALID, std::string("rtDevBinaryRegister: ") + error.what());
  }
  const std::lock_guard lock(mutex_);
  *handle = binaries_.add(std::move(binary));
  return ACL_SUCCESS;
}

aclError Kernels::add_function(void* binary_handle, const void* stub, const char* entry) {
  if (!stub || !entry)
    return set_error(ACL_ERROR_INVALID_PARAM, "rtFunctionRegister: stub or entry name is null");
  const std::lock_guard lock(mutex_);
  const auto binary = binaries_.find(binary_handle);
  if (!binary) {
    return set_error(ACL_ERROR_RT_INVALID_HANDLE,
                     std::string("rtFunctionRegister: no registered binary behind the handle of ") + entry);
  }
  auto function = std::make_shared<Function>();
  function->number = ++count_;
  function->entry = entry;
  function->program = binary->program;
  functions_[stub] = std::move(function);
  return ACL_SUCCESS;
}

std::shared_ptr<const Function> Kernels::find(const void* stub) const {
  const std::lock_guard lock(mutex_);
  const auto found = functions_.find(stub);
  return found == functions_.end() ? nullptr : found->second;
}

Kernels& kernels() {
  static Kernels* const once = new Kernels;  // never destroyed, like the runtime
  return *once;
}

}  // namespace cann_sim
