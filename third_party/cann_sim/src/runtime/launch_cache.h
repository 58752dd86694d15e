// Launches that need not be executed again.
//
// A launch is a function of its arguments and of the memory it reads. If both are as they were, and what it
// wrote is still there, executing it again would change nothing: its result is in memory and its duration is
// known. Benchmarks repeat one launch ten thousand times.
//
// "As they were" is decided by content stamps: what it read carries the stamps from *before* its last run,
// what it wrote those from *after* it. A kernel that updates memory in place changes the stamp of what it
// reads, so it never matches itself.
#pragma once
#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <unordered_map>

#include "runtime/kernels.h"
#include "runtime/memory.h"
#include "runtime/task.h"

namespace cann_sim {

// Not thread-safe: used under the engine's lock. The least recently used entries go first.
class LaunchCache {
 public:
  explicit LaunchCache(size_t capacity) : capacity_(capacity) {}
  // Executes the launch or recognises it. Throws DeviceError when the kernel fails.
  Effect run(int device, const Function& function, uint32_t blocks, const std::string& arguments,
             Memory& memory);

 private:
  struct Entry {
    std::string key;
    Effect effect;  // stamped
    uint64_t read_signature = 0, write_signature = 0;
  };
  using Entries = std::list<Entry>;  // most recent first

  static Effect execute(int device, const Function& function, uint32_t blocks, const std::string& arguments,
                        Memory& memory);

  const size_t capacity_;
  Entries entries_;
  std::unordered_map<std::string, Entries::iterator> by_key_;
};

}  // namespace cann_sim
