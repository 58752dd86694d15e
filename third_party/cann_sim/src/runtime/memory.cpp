#include "runtime/memory.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <mutex>

#include "runtime/errors.h"
#include "runtime/faults.h"

namespace cann_sim {
namespace {

constexpr uint64_t kDontneedBytes = 64 << 10;  // below this, clearing by hand is faster than a system call

std::string hex(const void* address) {
  char text[24];
  std::snprintf(text, sizeof text, "%p", address);
  return text;
}

// Clears [begin, end), giving whole pages back to the system.
void clear(uint64_t begin, uint64_t end) {
  const uint64_t first = whole_pages(begin), last = end / page_bytes() * page_bytes();
  if (first + kDontneedBytes > last ||
      madvise(reinterpret_cast<void*>(first), last - first, MADV_DONTNEED) != 0) {
    std::memset(reinterpret_cast<void*>(begin), 0, end - begin);
    return;
  }
  std::memset(reinterpret_cast<void*>(begin), 0, first - begin);
  std::memset(reinterpret_cast<void*>(last), 0, end - last);
}

}  // namespace

Memory::Memory(int devices, uint64_t capacity) : capacity_(whole_pages(capacity)), arenas_(devices) {}

Arena& Memory::arena(int device) {
  if (!arenas_[device]) arenas_[device] = std::make_unique<Arena>(capacity_);
  return *arenas_[device];
}

aclError Memory::allocate(int device, size_t bytes, void** address) {
  if (!address || bytes == 0) {
    return set_error(ACL_ERROR_INVALID_PARAM, "allocation needs an address to fill and a size above 0");
  }
  const std::lock_guard lock(mutex_);
  if (faults().allocation_fails(bytes, ++allocations_)) {
    return set_error(ACL_ERROR_RT_MEMORY_ALLOCATION,
                     "allocation of " + std::to_string(bytes) + " bytes fails on demand (CANN_SIM_FAULTS)");
  }
  Arena& memory = arena(device);
  if (!memory.reserved()) {
    return set_error(ACL_ERROR_RT_MEMORY_ALLOCATION,
                     "the system refuses an address range of " + std::to_string(capacity_) +
                         " bytes for device memory; CANN_SIM_MEMORY_GIB sets the size");
  }
  const uint64_t begin = memory.allocate(bytes);
  if (begin == Arena::kNone) {
    return set_error(ACL_ERROR_RT_MEMORY_ALLOCATION, "out of memory on device " + std::to_string(device) +
                                                         ": " + std::to_string(bytes) + " bytes asked, " +
                                                         std::to_string(capacity_ - memory.used()) + " of " +
                                                         std::to_string(capacity_) + " free");
  }
  device_[begin] = Block{begin + bytes, device};
  content_.add({begin, begin + whole_pages(bytes)});
  *address = reinterpret_cast<void*>(begin);
  return ACL_SUCCESS;
}

aclError Memory::release(void* address) {
  const std::lock_guard lock(mutex_);
  const auto found = device_.find(reinterpret_cast<uint64_t>(address));
  if (found == device_.end()) {
    return set_error(ACL_ERROR_RT_PARAM_INVALID,
                     "free: " + hex(address) + " is not the start of device memory");
  }
  const uint64_t begin = found->first, bytes = found->second.end - begin;
  content_.remove({begin, begin + whole_pages(bytes)});
  arenas_[found->second.device]->release(begin, bytes);
  device_.erase(found);
  return ACL_SUCCESS;
}

aclError Memory::allocate_host(size_t bytes, void** address) {
  if (!address || bytes == 0) {
    return set_error(ACL_ERROR_INVALID_PARAM, "host allocation needs an address to fill and a size above 0");
  }
  const std::lock_guard lock(mutex_);
  void* p = mmap(nullptr, whole_pages(bytes), PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED) {
    return set_error(ACL_ERROR_RT_MEMORY_ALLOCATION,
                     "the system refuses " + std::to_string(bytes) + " bytes: " + std::strerror(errno));
  }
  const auto begin = reinterpret_cast<uint64_t>(p);
  host_[begin] = Block{begin + bytes, 0};
  *address = p;
  return ACL_SUCCESS;
}

aclError Memory::release_host(void* address) {
  const std::lock_guard lock(mutex_);
  const auto found = host_.find(reinterpret_cast<uint64_t>(address));
  if (found == host_.end()) {
    return set_error(ACL_ERROR_RT_PARAM_INVALID,
                     "free: " + hex(address) + " is not the start of pinned host memory");
  }
  munmap(address, whole_pages(found->second.end - found->first));
  host_.erase(found);
  return ACL_SUCCESS;
}

uint64_t Memory::used(int device) const {
  const std::lock_guard lock(mutex_);
  return arenas_[device] ? arenas_[device]->used() : 0;
}

const Memory::Block* Memory::find(const Blocks& blocks, uint64_t address) {
  auto at = blocks.upper_bound(address);
  if (at == blocks.begin()) return nullptr;
  --at;
  return address < at->second.end ? &at->second : nullptr;
}

bool Memory::contains(const void* begin, const void* end) const {
  const std::lock_guard lock(mutex_);
  const Block* block = find(device_, reinterpret_cast<uint64_t>(begin));
  return block && begin <= end && reinterpret_cast<uint64_t>(end) <= block->end;
}

bool Memory::visible(int device, const void* begin, const void* end) const {
  const std::lock_guard lock(mutex_);
  const Block* block = find(device_, reinterpret_cast<uint64_t>(begin));
  if (!block || begin > end || reinterpret_cast<uint64_t>(end) > block->end) return false;
  return block->device == device || peers_.count({device, block->device}) != 0;
}

int Memory::device_of(const void* address) const {
  const std::lock_guard lock(mutex_);
  const Block* block = find(device_, reinterpret_cast<uint64_t>(address));
  return block ? block->device : -1;
}

void Memory::enable_peer(int device, int peer) {
  const std::lock_guard lock(mutex_);
  peers_.insert({device, peer});
}

bool Memory::is_pinned(const void* address) const {
  const std::lock_guard lock(mutex_);
  return find(host_, reinterpret_cast<uint64_t>(address)) != nullptr;
}

bool Memory::is_zero(const void* address, size_t bytes) const {
  const std::lock_guard lock(mutex_);
  const auto begin = reinterpret_cast<uint64_t>(address);
  return content_.is_zero({begin, begin + bytes});
}

void Memory::fill_zero(void* address, size_t bytes) {
  const std::lock_guard lock(mutex_);
  const auto begin = reinterpret_cast<uint64_t>(address);
  for (const hivm::Range& part : content_.nonzero({begin, begin + bytes})) clear(part.begin, part.end);
  content_.set({begin, begin + bytes}, kZero);
}

void Memory::written(const std::vector<hivm::Range>& ranges) {
  const std::lock_guard lock(mutex_);
  const Stamp stamp = content_.next_stamp();
  for (const hivm::Range& range : ranges) content_.set(range, stamp);
}

void Memory::written_anywhere() {
  const std::lock_guard lock(mutex_);
  content_.set({0, UINT64_MAX}, content_.next_stamp());
}

uint64_t Memory::signature(const std::vector<hivm::Range>& ranges) const {
  const std::lock_guard lock(mutex_);
  return content_.signature(ranges);
}

}  // namespace cann_sim
