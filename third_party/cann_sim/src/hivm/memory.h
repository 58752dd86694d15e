// The memories of a core: its own, and the part of global memory that it may touch.
#pragma once
#include <array>
#include <cstddef>
#include <memory>

#include "hivm/core_kind.h"
#include "hivm/kernel.h"
#include "hivm/view.h"

namespace hivm {

// Local memory of one kind of core: UB of a vector core, L1 and L0C of a cube core.
class LocalMemory {
 public:
  explicit LocalMemory(CoreKind kind);

  // Throws ExecutionError when this kind of core has no such memory.
  std::byte* start(Space space) const;
  int64_t bytes(Space space) const { return parts_[static_cast<size_t>(space)].bytes; }
  // Sets the first `bytes` to 0xFF (NaN, -1), so that a kernel that reads what it never wrote shows it. Done
  // before each block.
  void fill(Space space, int64_t bytes) const;

 private:
  struct Part {
    std::unique_ptr<std::byte[]> storage;
    std::byte* start = nullptr;  // aligned, so that alignment can be told from host addresses
    int64_t bytes = 0;
  };
  std::array<Part, 4> parts_;
};

// Asks the allocator whether an access lies in one allocation and remembers windows that do, because a gather
// asks for every element. One launch uses it; allocations must not go away meanwhile.
class GlobalGuard {
 public:
  explicit GlobalGuard(const GlobalMemory& memory) : memory_(memory) {}
  // Throws ExecutionError.
  void check(const std::byte* begin, const std::byte* end);

 private:
  static constexpr uint64_t kWindow = 1 << 16;
  const GlobalMemory& memory_;
  std::array<uint64_t, 64> good_{};  // numbers of windows that lie in one allocation, by their low bits
};

}  // namespace hivm
