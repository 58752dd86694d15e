// How the host waits for the device.
#include <algorithm>
#include <chrono>

#include "runtime/costs.h"
#include "runtime/engine.h"
#include "runtime/errors.h"

namespace cann_sim {

int64_t Engine::limit(int32_t timeout_ms) const {
  return timeout_ms < 0 ? kNever : host_.now() + static_cast<int64_t>(timeout_ms) * 1'000'000;
}

std::string Engine::waits_for(const Stream& stream) {
  if (stream.pending.empty()) return "nothing";
  const Pending& head = stream.pending.front();
  switch (head.task.kind) {
    case TaskKind::NotifyWait:
      return "a wait for notify " + std::to_string(head.notify->number);
    case TaskKind::EventWait:
      return "a wait for event " + std::to_string(head.record.object);
    case TaskKind::ValueWait:
      return "a wait for the value " + std::to_string(head.value);
    default:
      return head.task.name;
  }
}

aclError Engine::wait_for(Lock& lock, int64_t limit_ns, aclError timeout_code, const Done& done,
                          const What& what) {
  if (done()) return ACL_SUCCESS;
  // Only another thread can help now. It gets some real time; then virtual time passes.
  moved_.wait_for(lock, std::chrono::milliseconds(config_.blocked_wait_ms), done);
  while (!done()) {
    if (expire_earliest(limit_ns)) continue;
    const std::string text = "gave up waiting for " + what() + ": nothing that was submitted releases it";
    host_.join(limit_ns == kNever ? host_.now() + costs::kHangNs : limit_ns);
    return set_error(timeout_code, text);
  }
  return ACL_SUCCESS;
}

bool Engine::expire_earliest(int64_t limit_ns) {
  Stream* first = nullptr;
  int64_t earliest = kNever;
  for (const auto& stream : streams_) {
    if (stream->pending.empty()) continue;
    const int64_t at = deadline(*stream, stream->pending.front());
    if (at < earliest) {
      earliest = at;
      first = stream.get();
    }
  }
  if (!first || earliest > limit_ns) return false;
  expire(*first);
  drain(*first);
  released_ = true;
  settle();
  moved_.notify_all();
  return true;
}

void Engine::expire_passed() {
  if (blocked_ == 0) return;
  while (expire_earliest(host_.now())) {
  }
}

aclError Engine::take_stream_error(Stream& stream) {
  if (!stream.error) return ACL_SUCCESS;
  const aclError error = set_error(stream.error, stream.error_text);
  stream.error = ACL_SUCCESS;
  stream.error_text.clear();
  return error;
}

aclError Engine::join(Lock& lock, Stream& stream, int64_t limit_ns) {
  const auto done = [&] { return stream.pending.empty(); };
  const auto what = [&] {
    return "stream " + std::to_string(stream.number) + " (" + std::to_string(stream.pending.size()) +
           " tasks behind " + waits_for(stream) + ")";
  };
  if (const aclError error = wait_for(lock, limit_ns, ACL_ERROR_RT_STREAM_SYNC_TIMEOUT, done, what))
    return error;
  if (stream.tail_ns > limit_ns) {
    host_.join(limit_ns);
    return set_error(ACL_ERROR_RT_STREAM_SYNC_TIMEOUT,
                     "stream " + std::to_string(stream.number) + " is busy for " +
                         std::to_string(stream.tail_ns - limit_ns) + " ns more than the time-out");
  }
  host_.join(stream.tail_ns);
  return take_stream_error(stream);
}

aclError Engine::synchronize_stream(int device, aclrtStream handle, int32_t timeout_ms) {
  return call([&](Lock& lock) -> aclError {
    const auto stream = find_stream(device, handle, "aclrtSynchronizeStream");
    const aclError error = join(lock, *stream, limit(timeout_ms));
    host_.spend(config_.host_sync_ns);
    return error;
  });
}

aclError Engine::synchronize_device(int device, int32_t timeout_ms) {
  return call([&](Lock& lock) -> aclError {
    refuse_lost(device);
    const int64_t limit_ns = limit(timeout_ms);
    aclError first = ACL_SUCCESS;
    const auto streams = streams_;  // another thread may create or destroy one while this one waits
    for (const auto& stream : streams) {
      if (stream->device != device) continue;
      const aclError error = join(lock, *stream, limit_ns);
      if (!first) first = error;
    }
    host_.spend(config_.host_sync_ns);
    return first;
  });
}

aclError Engine::query_stream(int device, aclrtStream handle, bool* complete) {
  return call([&](Lock&) -> aclError {
    const auto stream = find_stream(device, handle, "aclrtStreamQuery");
    expire_passed();
    *complete = stream->pending.empty() && stream->tail_ns <= host_.now();
    if (!*complete) host_.spend(costs::kHostPollNs);
    return ACL_SUCCESS;
  });
}

aclError Engine::synchronize_event(aclrtEvent handle, int32_t timeout_ms) {
  return call([&](Lock& lock) -> aclError {
    const auto event = find_event(handle, "aclrtSynchronizeEvent");
    const auto record = event->record;
    if (!record) return ACL_SUCCESS;  // never recorded: nothing to wait for
    const int64_t limit_ns = limit(timeout_ms);
    const auto done = [&] { return record->done; };
    const auto what = [&] { return "event " + std::to_string(event->number); };
    aclError error = wait_for(lock, limit_ns, ACL_ERROR_RT_EVENT_SYNC_TIMEOUT, done, what);
    if (!error && record->time_ns > limit_ns) {
      error = set_error(ACL_ERROR_RT_EVENT_SYNC_TIMEOUT,
                        "event " + std::to_string(event->number) + " comes " +
                            std::to_string(record->time_ns - limit_ns) + " ns after the time-out");
    }
    if (error) {
      if (limit_ns != kNever) host_.join(limit_ns);
      return error;
    }
    host_.join(record->time_ns);
    host_.spend(config_.host_sync_ns);
    const auto stream = record->stream.lock();
    if (!stream) return ACL_SUCCESS;
    refuse_lost(stream->device);
    return take_stream_error(*stream);
  });
}

aclError Engine::query_event(aclrtEvent handle, bool waits, bool* complete) {
  return call([&](Lock&) -> aclError {
    const auto event = find_event(handle, "aclrtQueryEvent...");
    expire_passed();
    const auto& ticket = waits ? event->wait : event->record;
    // An event that no stream waits for has no wait outstanding; one that was never recorded is not recorded.
    *complete = ticket ? ticket->done && ticket->time_ns <= host_.now() : waits;
    if (!*complete) host_.spend(costs::kHostPollNs);
    return ACL_SUCCESS;
  });
}

}  // namespace cann_sim
