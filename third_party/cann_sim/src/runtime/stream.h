// Streams and what they are synchronised with. Plain data: the engine moves it, under its lock.
#pragma once
#include <acl/acl.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <string>

#include "runtime/task.h"

namespace cann_sim {

struct Stream;

// One record of an event, shared by the event and everything that waits for this very record.
struct Ticket {
  bool done = false;
  int64_t time_ns = 0;
  std::weak_ptr<Stream> stream;  // that records it
};

struct Event {
  uint32_t number = 0;
  uint32_t flags = 0;
  std::shared_ptr<Ticket> record;  // the last record; none before the first and after a reset
  std::shared_ptr<Ticket> wait;    // the last wait of a stream for it
};

struct Notify {
  uint32_t number = 0;
  bool set = false;
  int64_t time_ns = 0;  // since when
};

// A task with what it is synchronised with.
struct Pending {
  Task task;
  TaskRecord record;               // submit time, thread, names; start and end once it ran
  std::shared_ptr<Ticket> marks;   // resolved when this task ends (EventRecord, EventWait)
  std::shared_ptr<Ticket> needs;   // must be resolved before (EventWait)
  std::shared_ptr<Notify> notify;  // NotifyRecord, NotifyWait
  int64_t timeout_ns = 0;          // NotifyWait; 0 = none
  uint64_t* address = nullptr;     // ValueWrite, ValueWait
  uint64_t value = 0;
  uint32_t condition = 0;  // ACL_STREAM_WAIT_VALUE_*
};

struct Stream {
  int device = 0;
  uint32_t number = 0;
  uint32_t flags = 0, priority = 0;
  std::deque<Pending> pending;   // empty unless its head waits for something that has not been submitted yet
  int64_t tail_ns = 0;           // end of the last task that ran
  uint64_t ran = 0;              // tasks that ran
  aclError error = ACL_SUCCESS;  // of a task, returned by the next synchronise
  std::string error_text;
};

}  // namespace cann_sim
