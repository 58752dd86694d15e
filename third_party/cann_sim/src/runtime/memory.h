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
  std::vector<std::unique_ptr<Arena>> arenas_;
  Content content_;
};

}  // namespace cann_sim
