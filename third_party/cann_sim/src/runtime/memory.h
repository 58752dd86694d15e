// Device and pinned host memory: allocations, and what is known about their content.
//
// Device memory is host memory at the same address, without anything behind it until it is touched. A forked
// child does not have it.
#pragma once
#include <acl/acl.h>

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include "hivm/kernel.h"
#include "runtime/arena.h"
#include "runtime/content.h"

namespace cann_sim {

class Memory final : public hivm::GlobalMemory {
 public:
  Memory(int devices, uint64_t capacity);
  aclError allocate(int device, size_t bytes, void** address);
  aclError release(void* address);
  aclError allocate_host(size_t bytes, void** address);
  aclError release_host(void* address);

  uint64_t capacity() const { return capacity_; }
  uint64_t used(int device) const;  // bytes, whole pages

  bool contains(const void* begin, const void* end) const override;
  // The same, and a kernel on `device` may touch it: its own memory, or that of a device it has peer access
  // to.
  bool visible(int device, const void* begin, const void* end) const;
  int device_of(const void* address) const;   // -1 for an address outside device memory
  void enable_peer(int device, int peer);     // `device` may touch the memory of `peer` from now on
  bool is_pinned(const void* address) const;  // inside an allocation of allocate_host

  // Whether every byte is known to be zero, without reading it. False means only "not known". Empty ranges
  // are zero.
  bool is_zero(const void* address, size_t bytes) const;
  // Clears device memory. Whole pages are given back to the system and read as zero again; a range that is
  // known to be zero is not touched.
  void fill_zero(void* address, size_t bytes);
  // Says that the simulator wrote these bytes: they get a new stamp and are no longer known to be zero.
  void written(const std::vector<hivm::Range>& ranges);
  // Says that any device memory may have been written: a kernel failed half-way.
  void written_anywhere();
  // Same number, same content, for as long as every write passes through this class.
  uint64_t signature(const std::vector<hivm::Range>& ranges) const;

  // For pthread_atfork: a forked child must find no lock taken. (A shared_mutex cannot do this: the child may
  // not unlock what its parent locked.)
  void lock() { mutex_.lock(); }
  void unlock() { mutex_.unlock(); }

 private:
  struct Block {
    uint64_t end = 0;  // as asked for
    int device = 0;
  };
  using Blocks = std::map<uint64_t, Block>;  // by begin

  Arena& arena(int device);  // reserved at the first use
  static const Block* find(const Blocks& blocks, uint64_t address);

  mutable std::mutex mutex_;
  const uint64_t capacity_;
  Blocks device_, host_;
  std::set<std::pair<int, int>> peers_;  // (device, whose memory it may touch)
  uint64_t allocations_ = 0;
  std::vector<std::unique_ptr<Arena>> arenas_;
  Content content_;
};

// Global memory as the kernels of one device may touch it.
class DeviceMemory final : public hivm::GlobalMemory {
 public:
  DeviceMemory(const Memory& memory, int device) : memory_(memory), device_(device) {}
  bool contains(const void* begin, const void* end) const override {
    return memory_.visible(device_, begin, end);
  }

 private:
  const Memory& memory_;
  const int device_;
};

}  // namespace cann_sim
