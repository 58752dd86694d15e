// The discrete-event engine: streams, events, notifies, values and the virtual time of all of them.
//
// A task runs on the thread that submits it, at once, unless its stream waits for a record that has not been
// submitted yet; then it is kept and runs, in stream order, on the thread whose call releases the stream. Its
// times follow from
//   start = max(end of the task before it, host time of the submission, what it waits for) + start overhead
// so the numbers depend on the order of the calls and on nothing else. Streams of a device run in parallel
// without slowing each other.
//
// Every public function takes the engine's lock, returns an aclError and sets the thread's error text.
#pragma once
#include <acl/acl.h>

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/clock.h"
#include "runtime/config.h"
#include "runtime/errors.h"
#include "runtime/handles.h"
#include "runtime/l2_cache.h"
#include "runtime/memory.h"
#include "runtime/noise.h"
#include "runtime/stream.h"
#include "runtime/task.h"

namespace cann_sim {

class Engine {
 public:
  Engine(const Config& config, Memory& memory);

  // ---- streams; nullptr is the default stream of `device`
  aclError create_stream(int device, uint32_t priority, uint32_t flags, aclrtStream* stream);
  // Refuses while tasks wait, unless `force`, which drops them.
  aclError destroy_stream(aclrtStream stream, bool force);
  aclError submit(int device, aclrtStream stream, Task task);
  // `timeout_ms`: -1 waits without limit, 0 only looks; virtual time, like every time-out here.
  aclError synchronize_stream(int device, aclrtStream stream, int32_t timeout_ms);
  aclError synchronize_device(int device, int32_t timeout_ms);
  // Forgets all errors of the device and of its streams; nothing may be waiting.
  aclError reset_device(int device);
  aclError check_device(int device);  // the error that has cost the device, if one has
  aclError query_stream(int device, aclrtStream stream, bool* complete);
  aclError describe_stream(int device, aclrtStream stream, uint32_t* number, uint32_t* priority,
                           uint32_t* flags);

  // ---- events
  aclError create_event(uint32_t flags, aclrtEvent* event);
  aclError destroy_event(aclrtEvent event);
  aclError record_event(int device, aclrtEvent event, aclrtStream stream);
  aclError reset_event(int device, aclrtEvent event, aclrtStream stream);
  aclError wait_event(int device, aclrtStream stream, aclrtEvent event);
  aclError synchronize_event(aclrtEvent event, int32_t timeout_ms);
  aclError query_event(aclrtEvent event, bool waits,
                       bool* complete);  // `waits`: the waits for it instead of its record
  aclError event_time(aclrtEvent event, int64_t* ns);
  aclError elapsed(aclrtEvent from, aclrtEvent to, float* ms);

  // ---- notifies and values
  aclError create_notify(aclrtNotify* notify);
  aclError destroy_notify(aclrtNotify notify);
  aclError notify_number(aclrtNotify notify, uint32_t* number);
  aclError record_notify(int device, aclrtNotify notify, aclrtStream stream);
  aclError wait_notify(int device, aclrtNotify notify, aclrtStream stream, uint32_t timeout_ms);
  aclError write_value(int device, void* address, uint64_t value, aclrtStream stream);
  aclError wait_value(int device, void* address, uint64_t value, uint32_t condition, aclrtStream stream);

  // ---- the host
  // A task that no stream orders (aclrtMemcpy, aclrtMemset): the host performs it and waits for its end.
  aclError run_on_host(int device, Task task);
  int64_t host_now();

  void add_listener(TaskListener* listener);  // never removed; must outlive the process
  void lock() { mutex_.lock(); }              // for pthread_atfork and for the state of listeners
  void unlock() { mutex_.unlock(); }

 private:
  using Lock = std::unique_lock<std::mutex>;
  struct Device {
    explicit Device(int number);
    L2Cache l2;
    std::shared_ptr<Stream> default_stream;
    uint32_t streams = 1;
    aclError lost = ACL_SUCCESS;  // what every call is answered with after a fault that cost the device
    std::string lost_text;
  };

  // engine.cpp
  // body(Lock&) under the lock; a CallError becomes its code and text.
  template <class Body>
  aclError call(const Body& body) {
    Lock lock(mutex_);
    try {
      return body(lock);
    } catch (const CallError& error) {
      return set_error(error.code(), error.what());
    }
  }
  // These throw CallError for a handle that is null or not alive, and for a stream of another device or of
  // one that is lost.
  std::shared_ptr<Stream> find_stream(int device, aclrtStream stream, const char* call);
  std::shared_ptr<Event> find_event(aclrtEvent event, const char* call);
  std::shared_ptr<Notify> find_notify(aclrtNotify notify, const char* call);
  Pending make_pending(const Stream& stream, Task task, uint64_t object, int64_t host_cost_ns);
  Pending make_mark(const Stream& stream, TaskKind kind, uint64_t object);
  aclError enqueue(Lock& lock, const std::shared_ptr<Stream>& stream, Pending pending);

  // engine_run.cpp
  bool ready(const Stream& stream, const Pending& head,
             int64_t* when_ns) const;  // may run, `when` what it waits for is there
  int64_t deadline(const Stream& stream,
                   const Pending& head) const;  // kNever unless it is a wait with a time-out
  bool drain(Stream& stream);                   // runs what can run; true if something did
  void pop(Stream& stream);
  void settle();  // drains every stream until nothing moves
  void run(Stream& stream, Pending& task, int64_t when_ns);
  void expire(Stream& stream);  // the wait at the head of the stream ends by its time-out
  int64_t perform(Stream& stream, Pending& task, int64_t start_ns);  // the task's work; its duration
  int64_t touch_memory(Stream& stream, Pending& task, int64_t start_ns);
  void note_writes(const std::vector<Range>& ranges, int64_t time_ns);  // for waits for a value
  void finish(Stream& stream, Pending& task, int64_t start_ns, int64_t end_ns);
  void refuse_lost(int device) const;  // throws CallError
  static void fail(Stream& stream, int code, const std::string& text);

  // engine_wait.cpp
  // Until done(); at most until `limit_ns`. `what` says, for the message, what does not come.
  using Done = std::function<bool()>;
  using What = std::function<std::string()>;
  aclError wait_for(Lock& lock, int64_t limit_ns, aclError timeout_code, const Done& done, const What& what);
  aclError join(Lock& lock, Stream& stream, int64_t limit_ns);
  bool expire_earliest(
      int64_t limit_ns);  // expires the blocked wait with the earliest time-out, if not after the limit
  void expire_passed();   // those whose time-out the host clock has passed
  static std::string waits_for(const Stream& stream);
  aclError take_stream_error(Stream& stream);
  int64_t limit(int32_t timeout_ms) const;  // as host time; kNever for -1

  static constexpr int64_t kNever = INT64_MAX;

  std::mutex mutex_;
  std::condition_variable moved_;  // a blocked stream has moved
  const Config& config_;
  Memory& memory_;
  Noise noise_;
  HostClock host_;
  std::vector<Device> devices_;
  std::vector<std::shared_ptr<Stream>> streams_;  // in order of creation, so that settling is repeatable
  HandleTable<Stream> stream_handles_;
  HandleTable<Event> events_;
  HandleTable<Notify> notifies_;
  std::vector<TaskListener*> listeners_;
  std::map<uint64_t, int64_t> value_times_;  // addresses used by value tasks -> when they were last written
  uint64_t sequence_ = 0;
  uint32_t event_count_ = 0, notify_count_ = 0;
  int blocked_ = 0;        // streams with pending tasks
  bool released_ = false;  // something happened that a blocked stream may wait for
};

}  // namespace cann_sim
