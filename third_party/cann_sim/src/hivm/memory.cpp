#include "hivm/memory.h"

#include <cstring>
#include <string>

#include "hivm/cost_model.h"
#include "hivm/view_check.h"

namespace hivm {
namespace {

// A transfer may complete the last 32-byte block of a row, also of the last row of the memory.
constexpr int64_t kSlack = 512;  // also the alignment of the start

std::string hex(const void* address) {
  char text[32];
  std::snprintf(text, sizeof text, "%p", address);
  return text;
}

}  // namespace

LocalMemory::LocalMemory(CoreKind kind) {
  const auto make = [&](Space space) {
    Part& part = parts_[static_cast<size_t>(space)];
    part.bytes = capacity_of(space);
    part.storage = std::make_unique<std::byte[]>(part.bytes + 3 * kSlack);
    std::memset(part.storage.get(), 0xFF, part.bytes + 3 * kSlack);
    const uint64_t address = reinterpret_cast<uint64_t>(part.storage.get()) + 2 * kSlack;
    part.start = reinterpret_cast<std::byte*>(address / kSlack * kSlack);
  };
  if (kind == CoreKind::Vector) {
    make(Space::Ub);
  } else {
    make(Space::L1);
    make(Space::L0c);
  }
}

std::byte* LocalMemory::start(Space space) const {
  const Part& part = parts_[static_cast<size_t>(space)];
  if (!part.storage) throw ExecutionError(std::string("this core has no memory '") + space_name(space) + "'");
  return part.start;
}

void LocalMemory::fill(Space space, int64_t bytes) const {
  if (bytes > 0) std::memset(start(space), 0xFF, bytes);
}

void GlobalGuard::check(const std::byte* begin, const std::byte* end) {
  if (begin == end) return;
  const uint64_t first = reinterpret_cast<uint64_t>(begin) / kWindow;
  const uint64_t last = (reinterpret_cast<uint64_t>(end) - 1) / kWindow;
  uint64_t& good = good_[first % good_.size()];
  if (first == last && good == first && first != 0) return;
  if (!memory_.contains(begin, end)) {
    throw ExecutionError("global memory access outside of every allocation: " + hex(begin) + " to " +
                         hex(end));
  }
  const auto* window = reinterpret_cast<const std::byte*>(first * kWindow);
  if (first == last && memory_.contains(window, window + kWindow)) good = first;
}

}  // namespace hivm
