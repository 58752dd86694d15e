#include "stream_gate.h"

#include <memory>
#include <utility>

namespace tat {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

// The probe counts its looks instead of reading a clock, so that the simulated CANN, whose time moves with
// each look, always sees the same number of them.
constexpr microseconds kLook{100};
constexpr int kLooksWhileClosed = 20;
constexpr int kLooksForRelease = 5000;

// A stream and an event for one probe.
class Probe {
 public:
  explicit Probe(DeviceRuntime& runtime) : runtime_(runtime), stream_(runtime.create_stream()) {
    try {
      event_ = runtime.create_event();
    } catch (...) {
      runtime.destroy_stream(stream_);
      throw;
    }
  }
  ~Probe() {
    // A stream that is stuck for good is left to itself: destroying it would wait for it.
    if (stuck_) return;
    runtime_.destroy_event(event_);
    runtime_.destroy_stream(stream_);
  }
  Probe(const Probe&) = delete;
  Probe& operator=(const Probe&) = delete;

  std::string run(StreamGate& gate) {
    gate.close(stream_);
    bool held = false;
    try {
      runtime_.record_event(event_, stream_);
      held = !passes(kLooksWhileClosed);
    } catch (...) {
      gate.open();
      throw;
    }
    gate.open();
    const bool released = passes(kLooksForRelease);
    stuck_ = !released && !gate.bounded();
    if (!stuck_) synchronize();
    if (!released) return "does not release a stream";
    return held ? "" : "does not hold a stream";
  }

 private:
  bool passes(int looks) {
    for (int i = 0; i < looks; ++i) {
      if (runtime_.query_event(event_)) return true;
      std::this_thread::sleep_for(kLook);
    }
    return false;
  }

  // Takes the error that a wait past its limit leaves on the stream.
  void synchronize() noexcept {
    try {
      runtime_.synchronize_stream(stream_);
    } catch (...) {
    }
  }

  DeviceRuntime& runtime_;
  Stream stream_;
  Event event_ = nullptr;
  bool stuck_ = false;
};

std::string problem_of(DeviceRuntime& runtime, const std::string& kind) {
  try {
    auto gate = runtime.make_gate(kind);
    std::string problem = probe_gate(runtime, *gate);
    // What a stuck stream waits for must go on existing.
    if (!problem.empty() && !gate->bounded()) static_cast<void>(gate.release());
    return problem;
  } catch (const std::exception& error) {
    return error.what();
  }
}

}  // namespace

Watchdog::~Watchdog() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    ending_ = true;
  }
  changed_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void Watchdog::arm(std::chrono::milliseconds limit, std::function<void()> action) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    action_ = std::move(action);
    deadline_ = std::chrono::steady_clock::now() + limit;
    fired_ = false;
    if (!thread_.joinable()) thread_ = std::thread([this] { serve(); });
  }
  changed_.notify_one();
}

bool Watchdog::disarm() noexcept {
  const std::lock_guard<std::mutex> lock(mutex_);
  action_ = nullptr;
  return fired_;
}

void Watchdog::serve() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (!ending_) {
    if (!action_) {
      changed_.wait(lock);
    } else if (changed_.wait_until(lock, deadline_) == std::cv_status::timeout && action_ &&
               std::chrono::steady_clock::now() >= deadline_) {
      try {
        action_();
      } catch (...) {
      }
      action_ = nullptr;
      fired_ = true;
    }
  }
}

GateHold::GateHold(StreamGate& gate, Watchdog& watchdog, Stream stream, std::chrono::milliseconds limit)
    : gate_(gate), watchdog_(watchdog) {
  gate_.close(stream);
  try {
    watchdog_.arm(limit, [this] { gate_.open(); });
  } catch (...) {
    gate_.open();
    throw;
  }
}

GateHold::~GateHold() {
  if (!held_) return;
  try {
    open();
  } catch (...) {  // what is on its way out is what the caller must see
  }
}

bool GateHold::open() {
  held_ = false;
  if (watchdog_.disarm()) return false;
  gate_.open();
  return true;
}

std::string probe_gate(DeviceRuntime& runtime, StreamGate& gate) { return Probe(runtime).run(gate); }

GateChoice choose_gate(DeviceRuntime& runtime) {
  GateChoice choice;
  for (const std::string& kind : runtime.gate_kinds()) {
    const std::string problem = problem_of(runtime, kind);
    if (problem.empty()) {
      choice.kind = kind;
      break;
    }
    choice.problem += (choice.problem.empty() ? "" : "; ") + kind + ": " + problem;
  }
  if (choice.kind.empty() && choice.problem.empty()) choice.problem = "the device's library has none";
  return choice;
}

}  // namespace tat
