// How tasks run and get their times.
#include <algorithm>
#include <cmath>

#include "runtime/costs.h"
#include "runtime/engine.h"
#include "runtime/faults.h"

namespace cann_sim {
namespace {

int64_t start_overhead(TaskKind kind) {
  switch (kind) {
    case TaskKind::Kernel:
      return costs::kKernelStartNs;
    case TaskKind::Operator:
      return costs::kOperatorStartNs;
    case TaskKind::Copy:
    case TaskKind::Fill:
      return costs::kCopyStartNs;
    default:
      return costs::kMarkStartNs;
  }
}

bool holds(uint64_t stored, uint64_t value, uint32_t condition) {
  switch (condition) {
    case ACL_STREAM_WAIT_VALUE_EQ:
      return stored == value;
    case ACL_STREAM_WAIT_VALUE_AND:
      return (stored & value) != 0;
    case ACL_STREAM_WAIT_VALUE_NOR:
      return ~(stored | value) != 0;
    default:  // ACL_STREAM_WAIT_VALUE_GEQ
      return stored >= value;
  }
}

Range bytes_at(const uint64_t* address) {
  const auto begin = reinterpret_cast<uint64_t>(address);
  return {begin, begin + sizeof *address};
}

}  // namespace

const char* name_of(TaskKind kind) {
  switch (kind) {
    case TaskKind::Kernel:
      return "kernel";
    case TaskKind::Operator:
      return "operator";
    case TaskKind::Copy:
      return "copy";
    case TaskKind::Fill:
      return "fill";
    case TaskKind::EventRecord:
      return "event";
    case TaskKind::EventWait:
      return "event_wait";
    case TaskKind::NotifyRecord:
      return "notify";
    case TaskKind::NotifyWait:
      return "notify_wait";
    case TaskKind::ValueWrite:
      return "value";
    case TaskKind::ValueWait:
      return "value_wait";
  }
  return "?";
}

int64_t Engine::deadline(const Stream& stream, const Pending& head) const {
  if (head.task.kind != TaskKind::NotifyWait || head.timeout_ns == 0) return kNever;
  return std::max(stream.tail_ns, head.record.submit_ns) + head.timeout_ns;
}

bool Engine::ready(const Stream& stream, const Pending& head, int64_t* when_ns) const {
  *when_ns = 0;
  switch (head.task.kind) {
    case TaskKind::EventWait:
      if (!head.needs) return true;
      *when_ns = head.needs->time_ns;
      return head.needs->done;
    case TaskKind::NotifyWait:
      *when_ns = head.notify->time_ns;
      return head.notify->set && head.notify->time_ns <= deadline(stream, head);
    case TaskKind::ValueWait: {
      if (!memory_.contains(head.address, head.address + 1))
        return true;  // freed meanwhile: fails when it runs
      const auto written = value_times_.find(reinterpret_cast<uint64_t>(head.address));
      if (written != value_times_.end()) *when_ns = written->second;
      return holds(*head.address, head.value, head.condition);
    }
    default:
      return true;
  }
}

void Engine::pop(Stream& stream) {
  stream.pending.pop_front();
  if (stream.pending.empty()) blocked_--;
}

bool Engine::drain(Stream& stream) {
  bool any = false;
  while (!stream.pending.empty()) {
    Pending& head = stream.pending.front();
    int64_t when_ns = 0;
    if (ready(stream, head, &when_ns)) {
      run(stream, head, when_ns);
      pop(stream);
    } else if (head.task.kind == TaskKind::NotifyWait && head.notify->set) {  // recorded too late
      expire(stream);
    } else {
      break;
    }
    any = true;
  }
  return any;
}

void Engine::settle() {
  bool any = false;
  while (released_) {
    released_ = false;
    if (blocked_ == 0) break;
    for (const auto& stream : streams_) any |= drain(*stream);
  }
  if (any) moved_.notify_all();
}

void Engine::run(Stream& stream, Pending& task, int64_t when_ns) {
  const int64_t start =
      std::max({stream.tail_ns, task.record.submit_ns, when_ns}) + start_overhead(task.task.kind);
  const int64_t duration = perform(stream, task, start);
  finish(stream, task, start, start + duration);
}

void Engine::expire(Stream& stream) {
  Pending& head = stream.pending.front();
  const int64_t end = deadline(stream, head);
  fail(stream, ACL_ERROR_RT_WAIT_TIMEOUT,
       "notify " + std::to_string(head.notify->number) + " was not recorded within " +
           std::to_string(head.timeout_ns / 1'000'000) + " ms");
  finish(stream, head, end - head.timeout_ns, end);
  pop(stream);
}

int64_t Engine::perform(Stream& stream, Pending& task, int64_t start_ns) {
  try {
    switch (task.task.kind) {
      case TaskKind::EventRecord:
      case TaskKind::EventWait:
        return 0;
      case TaskKind::NotifyRecord:
        if (faults().notify_lost()) return 0;
        task.notify->time_ns = task.notify->set ? std::min(task.notify->time_ns, start_ns) : start_ns;
        task.notify->set = true;
        released_ = true;
        return 0;
      case TaskKind::NotifyWait:
        task.notify->set = false;
        return 0;
      case TaskKind::ValueWrite:
      case TaskKind::ValueWait: {
        if (!memory_.contains(task.address, task.address + 1)) {
          throw DeviceError(ACL_ERROR_RT_DEVICE_MEM_ERROR,
                            "the memory of a value was freed before the task ran");
        }
        if (task.task.kind == TaskKind::ValueWait) return 0;
        *task.address = task.value;
        memory_.written({bytes_at(task.address)});
        value_times_[reinterpret_cast<uint64_t>(task.address)] = start_ns;
        released_ = true;
        return 0;
      }
      default:
        return touch_memory(stream, task, start_ns);
    }
  } catch (const DeviceError& error) {
    fail(stream, error.code(), error.what());
    Device& device = devices_[stream.device];
    if (error.loses_device && !device.lost) {
      device.lost = error.code();
      device.lost_text = error.what();
    }
  } catch (const std::exception& error) {
    fail(stream, ACL_ERROR_RT_INTERNAL_ERROR, task.task.name + ": " + error.what());
  }
  return 0;
}

// Kernels, operators, copies and fills.
int64_t Engine::touch_memory(Stream& stream, Pending& task, int64_t start_ns) {
  Effect effect = task.task.run();
  const auto keep_device_memory = [this](std::vector<Range>& ranges) {
    ranges.erase(std::remove_if(ranges.begin(), ranges.end(),
                                [this](const Range& r) {
                                  const auto* begin = reinterpret_cast<const std::byte*>(r.begin);
                                  return r.begin >= r.end || !memory_.contains(begin, begin + 1);
                                }),
                 ranges.end());
  };
  keep_device_memory(effect.reads);
  keep_device_memory(effect.writes);
  keep_device_memory(effect.zeroed);
  for (const Range& r : effect.zeroed) memory_.fill_zero(reinterpret_cast<void*>(r.begin), r.end - r.begin);
  if (!effect.stamped && !effect.writes.empty()) memory_.written(effect.writes);

  const double warm = devices_[stream.device].l2.resident(effect.reads);
  for (const auto* ranges : {&effect.reads, &effect.writes, &effect.zeroed}) {
    if (ranges->empty()) continue;  // each list lies in the memory of one device, whose cache it passes
    const int owner = memory_.device_of(reinterpret_cast<void*>(ranges->front().begin));
    devices_[owner].l2.touch(*ranges);
  }
  std::copy(std::begin(effect.pipe_busy_ns), std::end(effect.pipe_busy_ns), task.record.pipe_busy_ns);
  task.record.reused = effect.reused;

  const auto ideal = std::llround(effect.cold_ns * (1 - warm) + effect.warm_ns * warm);
  const int64_t duration = noise_.apply(ideal, stream.device, stream.number, stream.ran, start_ns);
  note_writes(effect.writes, start_ns + duration);
  note_writes(effect.zeroed, start_ns + duration);
  return duration;
}

void Engine::note_writes(const std::vector<Range>& ranges, int64_t time_ns) {
  if (value_times_.empty()) return;
  for (const Range& range : ranges) {
    for (auto at = value_times_.lower_bound(range.begin < 8 ? 0 : range.begin - 7);
         at != value_times_.end() && at->first < range.end; ++at) {
      at->second = time_ns;
      released_ = true;
    }
  }
}

void Engine::finish(Stream& stream, Pending& task, int64_t start_ns, int64_t end_ns) {
  stream.tail_ns = end_ns;
  stream.ran++;
  if (task.marks) {
    task.marks->done = true;
    task.marks->time_ns = end_ns;
    released_ = true;
  }
  task.record.start_ns = start_ns;
  task.record.end_ns = end_ns;
  for (TaskListener* listener : listeners_) listener->resolved(task.record);
}

void Engine::fail(Stream& stream, int code, const std::string& text) {
  if (stream.error) return;  // the first one is the cause
  stream.error = code;
  stream.error_text = text;
}

}  // namespace cann_sim
