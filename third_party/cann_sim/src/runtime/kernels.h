// Registered binaries and functions: what a stub address stands for.
#pragma once
#include <acl/acl.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "hivm/kernel.h"
#include "runtime/handles.h"

namespace cann_sim {

struct Binary {
  std::shared_ptr<const hivm::Program> program;
};

struct Function {
  uint64_t number = 0;  // never reused, unlike the stub's address
  std::string entry;
  std::shared_ptr<const hivm::Program> program;
};

class Kernels {
 public:
  // Copies and loads the object; the caller's bytes may go away.
  aclError add_binary(const void* data, size_t bytes, void** handle);
  aclError add_function(void* binary, const void* stub,
                        const char* entry);                      // replaces an earlier one of the same stub
  std::shared_ptr<const Function> find(const void* stub) const;  // nullptr if unknown

 private:
  mutable std::mutex mutex_;
  HandleTable<Binary> binaries_;
  std::unordered_map<const void*, std::shared_ptr<const Function>> functions_;
  uint64_t count_ = 0;
};

Kernels& kernels();

}  // namespace cann_sim
