// Holds a stream while the host queues work on it, so that what is timed later runs at the device's pace.
//
// Where the device waits for the host, an interval between two events measures the host. Behind a closed gate
// a whole round is queued first; once the gate opens nothing in it waits any more.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "device_runtime.h"

namespace tat {

class StreamGate {
 public:
  virtual ~StreamGate() = default;
  // Queues a wait: what is queued on the stream from here on stays there until open(). The gate must be open,
  // and the stream that it last held must have been waited for since.
  virtual void close(Stream stream) = 0;
  // Lets the stream go on. From any thread, once for each close().
  virtual void open() = 0;
  // Whether the device itself ends the wait after kDeviceLimit.
  virtual bool bounded() const = 0;
};

// The longest wait of a gate whose wait takes a limit: the last resort if the process dies while a stream is
// held.
constexpr std::chrono::milliseconds kDeviceLimit{2000};

// Runs an action on a thread of its own if it is not disarmed in time. The thread is started when first
// needed.
class Watchdog {
 public:
  Watchdog() = default;
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  void arm(std::chrono::milliseconds limit, std::function<void()> action);
  // Whether the action has run; it is not running any more when this returns. What it threw is dropped.
  bool disarm() noexcept;

 private:
  void serve();

  std::mutex mutex_;  // held while the action runs, so that disarm() waits for its end
  std::condition_variable changed_;
  std::function<void()> action_;  // armed while it is set
  std::chrono::steady_clock::time_point deadline_;
  bool fired_ = false;
  bool ending_ = false;
  std::thread thread_;
};

// A closed gate: from construction to open(), to destruction (also on the way out of an exception), or until
// the limit has passed, whichever comes first. The limit is what frees a program that waits for the device
// behind its own closed gate.
class GateHold {
 public:
  GateHold(StreamGate& gate, Watchdog& watchdog, Stream stream, std::chrono::milliseconds limit);
  ~GateHold();
  GateHold(const GateHold&) = delete;
  GateHold& operator=(const GateHold&) = delete;

  // False if the limit had opened the gate before.
  bool open();

 private:
  StreamGate& gate_;
  Watchdog& watchdog_;
  bool held_ = true;
};

// What is wrong with a gate; empty if it holds a stream and releases it. Takes a few milliseconds, on a
// stream of its own; up to some seconds for a gate that does not release.
std::string probe_gate(DeviceRuntime& runtime, StreamGate& gate);

struct GateChoice {
  std::string kind;     // of the first gate that works; empty if none does
  std::string problem;  // why each gate before that one does not work
};

// Probes the kinds of gate that the runtime has, in its order.
GateChoice choose_gate(DeviceRuntime& runtime);

}  // namespace tat
