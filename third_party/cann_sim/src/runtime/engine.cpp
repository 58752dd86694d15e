#include "runtime/engine.h"

#include <algorithm>
#include <cstdio>

#include "runtime/costs.h"
#include "runtime/faults.h"
#include "runtime/soc.h"
#include "runtime/thread_name.h"

namespace cann_sim {
namespace {

std::string hex(const void* address) {
  char text[24];
  std::snprintf(text, sizeof text, "%p", address);
  return text;
}

// The object behind a handle, or a CallError that names the call.
template <class T>
std::shared_ptr<T> find(const HandleTable<T>& table, const void* handle, const char* call, const char* what) {
  if (!handle) throw CallError(ACL_ERROR_INVALID_PARAM, std::string(call) + ": " + what + " is null");
  auto found = table.find(handle);
  if (!found) {
    throw CallError(ACL_ERROR_RT_INVALID_HANDLE,
                    std::string(call) + ": " + hex(handle) + " is no live " + what);
  }
  return found;
}

}  // namespace

Engine::Device::Device(int number) : l2(soc().l2_bytes, costs::kL2LineBytes), default_stream(new Stream) {
  default_stream->device = number;
}

Engine::Engine(const Config& config, Memory& memory) : config_(config), memory_(memory), noise_(config) {
  for (int i = 0; i < config.devices; i++) {
    devices_.emplace_back(i);
    streams_.push_back(devices_.back().default_stream);
    stream_handles_.add(devices_.back().default_stream);
  }
}

std::shared_ptr<Stream> Engine::find_stream(int device, aclrtStream handle, const char* call) {
  auto stream = handle ? find(stream_handles_, handle, call, "stream") : devices_[device].default_stream;
  if (stream->device != device) {
    throw CallError(ACL_ERROR_RT_STREAM_CONTEXT, std::string(call) + ": the stream is one of device " +
                                                     std::to_string(stream->device) +
                                                     ", the current device is " + std::to_string(device));
  }
  refuse_lost(device);
  return stream;
}

std::shared_ptr<Event> Engine::find_event(aclrtEvent handle, const char* call) {
  return find(events_, handle, call, "event");
}

std::shared_ptr<Notify> Engine::find_notify(aclrtNotify handle, const char* call) {
  return find(notifies_, handle, call, "notify");
}

void Engine::refuse_lost(int device) const {
  if (devices_[device].lost) throw CallError(devices_[device].lost, devices_[device].lost_text);
}

aclError Engine::check_device(int device) {
  return call([&](Lock&) -> aclError {
    refuse_lost(device);
    return ACL_SUCCESS;
  });
}

aclError Engine::reset_device(int device) {
  return call([&](Lock&) -> aclError {
    devices_[device].lost = ACL_SUCCESS;
    for (const auto& stream : streams_) {
      if (stream->device != device) continue;
      stream->error = ACL_SUCCESS;
      stream->error_text.clear();
    }
    return ACL_SUCCESS;
  });
}

// ---- streams
// ---------------------------------------------------------------------------------------------------------

aclError Engine::create_stream(int device, uint32_t priority, uint32_t flags, aclrtStream* stream) {
  return call([&](Lock&) -> aclError {
    if (!stream) return set_error(ACL_ERROR_INVALID_PARAM, "aclrtCreateStream: stream is null");
    auto made = std::make_shared<Stream>();
    made->device = device;
    made->number = devices_[device].streams++;
    made->priority = priority;
    made->flags = flags;
    streams_.push_back(made);
    *stream = stream_handles_.add(std::move(made));
    return ACL_SUCCESS;
  });
}

aclError Engine::destroy_stream(aclrtStream handle, bool force) {
  return call([&](Lock&) -> aclError {
    const auto stream = find(stream_handles_, handle, "aclrtDestroyStream", "stream");
    if (stream == devices_[stream->device].default_stream) {
      return set_error(ACL_ERROR_RT_PARAM_INVALID,
                       "aclrtDestroyStream: the default stream cannot be destroyed");
    }
    if (!stream->pending.empty()) {
      if (!force) {
        return set_error(ACL_ERROR_RT_STREAM_NOT_COMPLETE,
                         "aclrtDestroyStream: " + std::to_string(stream->pending.size()) +
                             " tasks wait behind " + waits_for(*stream));
      }
      stream->pending.clear();
      blocked_--;
    }
    stream_handles_.remove(handle);
    streams_.erase(std::find(streams_.begin(), streams_.end(), stream));
    return ACL_SUCCESS;
  });
}

aclError Engine::describe_stream(int device, aclrtStream handle, uint32_t* number, uint32_t* priority,
                                 uint32_t* flags) {
  return call([&](Lock&) -> aclError {
    const auto stream = find_stream(device, handle, "aclrtStreamGet...");
    if (number) *number = stream->number;
    if (priority) *priority = stream->priority;
    if (flags) *flags = stream->flags;
    return ACL_SUCCESS;
  });
}

// ---- submission
// ------------------------------------------------------------------------------------------------------

Pending Engine::make_pending(const Stream& stream, Task task, uint64_t object, int64_t host_cost_ns) {
  Pending made;
  made.record.sequence = sequence_++;
  made.record.device = stream.device;
  made.record.stream = stream.number;
  made.record.kind = task.kind;
  made.record.name = task.name;
  made.record.object = object;
  made.record.blocks = task.blocks;
  made.record.submit_ns = host_.spend(host_cost_ns);
  made.record.host_ns = host_cost_ns;
  made.record.thread_id = static_cast<uint32_t>(current_thread_id());
  made.record.thread_name = current_thread_name();
  made.task = std::move(task);
  for (TaskListener* listener : listeners_) listener->submitted(made.record);
  return made;
}

Pending Engine::make_mark(const Stream& stream, TaskKind kind, uint64_t object) {
  return make_pending(stream, Task{kind, name_of(kind), 0, nullptr, nullptr}, object, config_.host_submit_ns);
}

aclError Engine::enqueue(Lock& lock, const std::shared_ptr<Stream>& stream, Pending pending) {
  const auto room = [&] { return stream->pending.size() < costs::kStreamDepth; };
  // The call blocks until there is room, which may never come.
  const aclError error = wait_for(lock, kNever, ACL_ERROR_RT_STREAM_TASK_FULL, room, [&] {
    return "room on a stream with " + std::to_string(stream->pending.size()) + " tasks behind " +
           waits_for(*stream);
  });
  if (error) return error;
  if (!stream->pending.empty() && pending.task.keep) pending.task.keep();
  stream->pending.push_back(std::move(pending));
  if (stream->pending.size() == 1) {
    blocked_++;
    drain(*stream);
    settle();
  }
  return ACL_SUCCESS;
}

aclError Engine::submit(int device, aclrtStream handle, Task task) {
  return call([&](Lock& lock) -> aclError {
    const auto stream = find_stream(device, handle, task.name.c_str());
    const bool launch = task.kind == TaskKind::Kernel || task.kind == TaskKind::Operator;
    const int64_t cost = launch ? config_.host_launch_ns : config_.host_submit_ns;
    return enqueue(lock, stream, make_pending(*stream, std::move(task), 0, cost));
  });
}

aclError Engine::run_on_host(int device, Task task) {
  return call([&](Lock&) -> aclError {
    refuse_lost(device);
    Stream host;  // its own order, so that it neither waits for the device's streams nor delays them
    host.device = device;
    host.number = UINT32_MAX;
    Pending pending = make_pending(host, std::move(task), 0, config_.host_submit_ns);
    run(host, pending, 0);
    host_.join(host.tail_ns);
    host_.spend(config_.host_sync_ns);
    settle();
    return host.error ? set_error(host.error, host.error_text) : ACL_SUCCESS;
  });
}

int64_t Engine::host_now() {
  const Lock lock(mutex_);
  return host_.now();
}

void Engine::add_listener(TaskListener* listener) {
  const Lock lock(mutex_);
  listeners_.push_back(listener);
}

// ---- events
// ----------------------------------------------------------------------------------------------------------

aclError Engine::create_event(uint32_t flags, aclrtEvent* event) {
  return call([&](Lock&) -> aclError {
    if (!event) return set_error(ACL_ERROR_INVALID_PARAM, "aclrtCreateEvent: event is null");
    auto made = std::make_shared<Event>();
    made->number = ++event_count_;
    made->flags = flags;
    *event = events_.add(std::move(made));
    return ACL_SUCCESS;
  });
}

aclError Engine::destroy_event(aclrtEvent handle) {
  return call([&](Lock&) -> aclError {
    find_event(handle, "aclrtDestroyEvent");
    events_.remove(handle);
    return ACL_SUCCESS;
  });
}

aclError Engine::record_event(int device, aclrtEvent handle, aclrtStream stream_handle) {
  return call([&](Lock& lock) -> aclError {
    if (faults().record_fails()) {
      return set_error(ACL_ERROR_RT_INTERNAL_ERROR, "aclrtRecordEvent: refused on demand (CANN_SIM_FAULTS)");
    }
    const auto event = find_event(handle, "aclrtRecordEvent");
    const auto stream = find_stream(device, stream_handle, "aclrtRecordEvent");
    Pending pending = make_mark(*stream, TaskKind::EventRecord, event->number);
    event->record = pending.marks = std::make_shared<Ticket>();
    event->record->stream = stream;
    return enqueue(lock, stream, std::move(pending));
  });
}

aclError Engine::reset_event(int device, aclrtEvent handle, aclrtStream stream_handle) {
  return call([&](Lock&) -> aclError {
    const auto event = find_event(handle, "aclrtResetEvent");
    find_stream(device, stream_handle, "aclrtResetEvent");
    host_.spend(config_.host_submit_ns);
    // Waits hold the ticket that they wait for, so the record can be forgotten at once.
    event->record.reset();
    return ACL_SUCCESS;
  });
}

aclError Engine::wait_event(int device, aclrtStream stream_handle, aclrtEvent handle) {
  return call([&](Lock& lock) -> aclError {
    const auto event = find_event(handle, "aclrtStreamWaitEvent");
    const auto stream = find_stream(device, stream_handle, "aclrtStreamWaitEvent");
    Pending pending = make_mark(*stream, TaskKind::EventWait, event->number);
    pending.needs = event->record;  // none: nothing to wait for
    event->wait = pending.marks = std::make_shared<Ticket>();
    return enqueue(lock, stream, std::move(pending));
  });
}

aclError Engine::event_time(aclrtEvent handle, int64_t* ns) {
  return call([&](Lock&) -> aclError {
    const auto event = find_event(handle, "aclrtEventGetTimestamp");
    const std::string what = "event " + std::to_string(event->number);
    if (!(event->flags & ACL_EVENT_TIME_LINE)) {
      return set_error(ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID,
                       what + " was created without ACL_EVENT_TIME_LINE");
    }
    if (!event->record) return set_error(ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID, what + " was never recorded");
    if (!event->record->done || event->record->time_ns > host_.now()) {
      return set_error(ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID, what + " is not complete; synchronise first");
    }
    *ns = event->record->time_ns;
    return ACL_SUCCESS;
  });
}

aclError Engine::elapsed(aclrtEvent from, aclrtEvent to, float* ms) {
  if (!ms) return set_error(ACL_ERROR_INVALID_PARAM, "aclrtEventElapsedTime: ms is null");
  if (faults().elapsed_fails()) {
    return set_error(ACL_ERROR_RT_INTERNAL_ERROR,
                     "aclrtEventElapsedTime: refused on demand (CANN_SIM_FAULTS)");
  }
  int64_t start = 0, end = 0;
  if (const aclError error = event_time(from, &start)) return error;
  if (const aclError error = event_time(to, &end)) return error;
  if (end < start) {
    return set_error(ACL_ERROR_RT_EVENT_TIMESTAMP_REVERSAL,
                     "aclrtEventElapsedTime: the end event was recorded " + std::to_string(start - end) +
                         " ns before the start event");
  }
  *ms = static_cast<float>(static_cast<double>(end - start) * 1e-6 * faults().elapsed_factor());
  return ACL_SUCCESS;
}

// ---- notifies and values
// ---------------------------------------------------------------------------------------------

aclError Engine::create_notify(aclrtNotify* notify) {
  return call([&](Lock&) -> aclError {
    if (!notify) return set_error(ACL_ERROR_INVALID_PARAM, "aclrtCreateNotify: notify is null");
    auto made = std::make_shared<Notify>();
    made->number = ++notify_count_;
    *notify = notifies_.add(std::move(made));
    return ACL_SUCCESS;
  });
}

aclError Engine::destroy_notify(aclrtNotify handle) {
  return call([&](Lock&) -> aclError {
    find_notify(handle, "aclrtDestroyNotify");
    notifies_.remove(handle);
    return ACL_SUCCESS;
  });
}

aclError Engine::notify_number(aclrtNotify handle, uint32_t* number) {
  return call([&](Lock&) -> aclError {
    const auto notify = find_notify(handle, "aclrtGetNotifyId");
    if (!number) return set_error(ACL_ERROR_INVALID_PARAM, "aclrtGetNotifyId: notifyId is null");
    *number = notify->number;
    return ACL_SUCCESS;
  });
}

aclError Engine::record_notify(int device, aclrtNotify handle, aclrtStream stream_handle) {
  return call([&](Lock& lock) -> aclError {
    const auto notify = find_notify(handle, "aclrtRecordNotify");
    const auto stream = find_stream(device, stream_handle, "aclrtRecordNotify");
    Pending pending = make_mark(*stream, TaskKind::NotifyRecord, notify->number);
    pending.notify = notify;
    return enqueue(lock, stream, std::move(pending));
  });
}

aclError Engine::wait_notify(int device, aclrtNotify handle, aclrtStream stream_handle, uint32_t timeout_ms) {
  return call([&](Lock& lock) -> aclError {
    const auto notify = find_notify(handle, "aclrtWaitAndResetNotify");
    const auto stream = find_stream(device, stream_handle, "aclrtWaitAndResetNotify");
    Pending pending = make_mark(*stream, TaskKind::NotifyWait, notify->number);
    pending.notify = notify;
    pending.timeout_ns = static_cast<int64_t>(timeout_ms) * 1'000'000;
    return enqueue(lock, stream, std::move(pending));
  });
}

aclError Engine::write_value(int device, void* address, uint64_t value, aclrtStream stream_handle) {
  return call([&](Lock& lock) -> aclError {
    const auto stream = find_stream(device, stream_handle, "aclrtValueWrite");
    Pending pending = make_mark(*stream, TaskKind::ValueWrite, 0);
    pending.address = static_cast<uint64_t*>(address);
    pending.value = value;
    return enqueue(lock, stream, std::move(pending));
  });
}

aclError Engine::wait_value(int device, void* address, uint64_t value, uint32_t condition,
                            aclrtStream stream_handle) {
  return call([&](Lock& lock) -> aclError {
    const auto stream = find_stream(device, stream_handle, "aclrtValueWait");
    Pending pending = make_mark(*stream, TaskKind::ValueWait, 0);
    pending.address = static_cast<uint64_t*>(address);
    pending.value = value;
    pending.condition = condition;
    value_times_.emplace(reinterpret_cast<uint64_t>(address), 0);
    return enqueue(lock, stream, std::move(pending));
  });
}

}  // namespace cann_sim
