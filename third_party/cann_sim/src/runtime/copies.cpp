#include "runtime/copies.h"

#include <cstring>
#include <memory>

#include "runtime/costs.h"
#include "runtime/errors.h"
#include "runtime/runtime.h"

namespace cann_sim {
namespace {

bool on_device(const void* address, size_t bytes) {
  return runtime().memory().contains(address, static_cast<const char*>(address) + bytes);
}

aclError check_size(const char* call, const void* to, size_t capacity, size_t bytes) {
  if (!to && bytes) return set_error(ACL_ERROR_INVALID_PARAM, std::string(call) + ": the target is null");
  if (bytes > capacity) {
    return set_error(ACL_ERROR_RT_PARAM_INVALID, std::string(call) + ": " + std::to_string(bytes) +
                                                     " bytes do not fit into " + std::to_string(capacity));
  }
  return ACL_SUCCESS;
}

// The two sides of a copy; `snapshot` replaces the source when the copy runs later than the call.
struct Copy {
  void* to = nullptr;
  const void* from = nullptr;
  size_t bytes = 0;
  bool from_device = false, to_device = false;
  std::unique_ptr<char[]> snapshot;

  Effect run() const {
    Memory& memory = runtime().memory();
    Effect effect;
    if (from_device && to_device) {
      const std::vector<Range> source{range_of(from, bytes)}, target{range_of(to, bytes)};
      effect = traffic(source, target);
      if (memory.device_of(from) != memory.device_of(to)) {
        effect.cold_ns = effect.warm_ns = static_cast<double>(bytes) / costs::kDeviceLinkBytesPerNs;
      }
      if (memory.is_zero(from, bytes)) {
        effect.zeroed.swap(effect.writes);
        return effect;
      }
    } else {
      effect.cold_ns = effect.warm_ns = static_cast<double>(bytes) / costs::kHostLinkBytesPerNs;
      if (from_device) effect.reads = {range_of(from, bytes)};
      if (to_device) effect.writes = {range_of(to, bytes)};
    }
    std::memmove(to, snapshot ? snapshot.get() : from, bytes);
    return effect;
  }
};

}  // namespace

aclError make_copy(const char* call, void* to, size_t capacity, const void* from, size_t bytes,
                   aclrtMemcpyKind kind, Task* task) {
  if (const aclError error = check_size(call, to, capacity, bytes)) return error;
  if (!from && bytes) return set_error(ACL_ERROR_INVALID_PARAM, std::string(call) + ": the source is null");
  auto copy = std::make_shared<Copy>();
  copy->to = to;
  copy->from = from;
  copy->bytes = bytes;
  switch (kind) {
    case ACL_MEMCPY_HOST_TO_HOST:
      break;
    case ACL_MEMCPY_HOST_TO_DEVICE:
    case ACL_MEMCPY_HOST_TO_BUF_TO_DEVICE:
      copy->to_device = true;
      break;
    case ACL_MEMCPY_DEVICE_TO_HOST:
      copy->from_device = true;
      break;
    case ACL_MEMCPY_DEVICE_TO_DEVICE:
    case ACL_MEMCPY_INNER_DEVICE_TO_DEVICE:
    case ACL_MEMCPY_INTER_DEVICE_TO_DEVICE:
      copy->from_device = copy->to_device = true;
      break;
    case ACL_MEMCPY_DEFAULT:
      copy->from_device = on_device(from, bytes);
      copy->to_device = on_device(to, bytes);
      break;
    default:
      return set_error(ACL_ERROR_RT_PARAM_INVALID, std::string(call) + ": unknown kind of copy " +
                                                       std::to_string(static_cast<int>(kind)));
  }
  for (const bool target : {false, true}) {
    const bool device = target ? copy->to_device : copy->from_device;
    if (bytes && device && !on_device(target ? to : from, bytes)) {
      return set_error(ACL_ERROR_RT_PARAM_INVALID, std::string(call) + ": the " +
                                                       (target ? "target" : "source") + " is not " +
                                                       std::to_string(bytes) + " bytes of device memory");
    }
  }
  static const char* const names[2][2] = {{"memcpy_h2h", "memcpy_h2d"}, {"memcpy_d2h", "memcpy_d2d"}};
  task->kind = TaskKind::Copy;
  task->name = names[copy->from_device][copy->to_device];
  if (copy->from_device && copy->to_device && bytes &&
      runtime().memory().device_of(from) != runtime().memory().device_of(to)) {
    task->name = "memcpy_p2p";
  }
  task->blocks = 0;
  task->run = [copy] { return copy->run(); };
  if (!copy->from_device && !runtime().memory().is_pinned(from)) {
    task->keep = [copy] {  // pageable memory belongs to the caller again as soon as the call returns
      copy->snapshot.reset(new char[copy->bytes]);
      std::memcpy(copy->snapshot.get(), copy->from, copy->bytes);
    };
  }
  return ACL_SUCCESS;
}

aclError make_fill(const char* call, void* to, size_t capacity, int32_t value, size_t bytes, Task* task) {
  if (const aclError error = check_size(call, to, capacity, bytes)) return error;
  if (bytes && !on_device(to, bytes)) {
    return set_error(ACL_ERROR_RT_PARAM_INVALID, std::string(call) + ": the target is not " +
                                                     std::to_string(bytes) + " bytes of device memory");
  }
  task->kind = TaskKind::Fill;
  task->name = "memset";
  task->blocks = 0;
  task->run = [=]() -> Effect {
    if ((value & 0xff) == 0) return zero_traffic({range_of(to, bytes)});
    std::memset(to, value, bytes);
    return traffic({}, {range_of(to, bytes)});
  };
  return ACL_SUCCESS;
}

}  // namespace cann_sim
