// The measuring loop: samples of several trials, taken in a given order on one stream.
//
// One sample is, in this order on the stream:   [before] flush START launch END [after]
// Kernel time is END - START. The whole iteration reaches from the end of the sample before it to its own
// end.
//
// With a gate the samples are queued behind it in pieces, and the device is waited for after each piece:
//   opening GATE [prime] released  sample sample ...  trailer finished, then the gate opens
// A gate is never closed while a hook of a trial runs, so a trial with hooks is a piece of its own:
//   opening before GATE flush START launch END trailer, then the gate opens, after closing
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "device_runtime.h"
#include "event_pool.h"
#include "stream_gate.h"

namespace tat {

// What is timed. Only launch lies between START and END; an empty before or after is not called.
struct Trial {
  std::function<void()> launch;
  std::function<void()> before;
  std::function<void()> after;
};

// What the loop asks of the side that owns the device's state (here: Python, torch and Triton).
class Host {
 public:
  virtual ~Host() = default;
  // Queues the work that empties the caches.
  virtual void flush() = 0;
  // Queues the work that lies behind the last sample of a piece, so that this one finds the device's queue as
  // full as the others do. False: nothing was queued, and a flush or a launch will do.
  virtual bool trail() = 0;
  // The caller's current stream. Everything queued so far must have reached the device's own queue before
  // this returns: records go there directly, and would overtake work that still waits in a queue of the
  // framework.
  virtual Stream drained_stream() = 0;
  // Throws if the user asked for an end.
  virtual void check_interrupt() = 0;
  // Runs a wait for the device, letting other threads of the process run meanwhile.
  virtual void wait(const std::function<void()>& blocking) = 0;
};

struct Sample {
  std::size_t trial = 0;
  std::size_t place = 0;  // in the order that was asked for
  double kernel_ms = 0;
  double iteration_ms = 0;
};

struct Run {
  std::vector<Sample> samples;  // in the order they were taken
  std::vector<std::size_t>
      rejected;        // the trial of each sample whose times were zero, negative or not finite
  bool gated = false;  // whether all samples were taken behind a gate
  double host_ms = 0;  // wall time of the whole call; for information, never for a decision
};

struct TimerOptions {
  // Samples queued before the device is waited for. With the usual four tasks each, 64 of them keep a stream,
  // which holds about a thousand tasks, well below the point where queueing itself would block.
  std::size_t in_flight = 64;
  // Whether each piece begins (and, behind a gate, ends) with a launch that is not timed. For measuring
  // without a flush: on an H200 the first launch of a piece reads 1 to 8 % longer than the others.
  bool prime = false;
  // How long queueing a piece may hold the stream. Past it something waits for the device behind the closed
  // gate: the gate opens, the piece is taken again without it, and the timer goes on without a gate.
  std::chrono::milliseconds gate_limit{500};
};

// The step in which a run ended early.
enum class Step { kBefore, kFlush, kLaunch, kAfter, kRecord, kSynchronize };
const char* step_name(Step step);

struct Interruption {
  std::size_t trial;
  Step step;
};

class EventTimer {
 public:
  // gate: null measures without one.
  EventTimer(std::shared_ptr<DeviceRuntime> runtime, std::shared_ptr<Host> host, TimerOptions options = {},
             std::unique_ptr<StreamGate> gate = nullptr);

  // Takes one sample of trials[i] for each i in order, ungated where asked for or where no gate is left.
  // Whatever a callable throws comes out unchanged, after the gate is open, the stream has been waited for
  // and the events have gone back to the pool; interruption() then tells where it was.
  Run run(const std::vector<Trial>& trials, const std::vector<std::size_t>& order, bool gated = true);

  // Where the last run ended early, or nothing. A failed wait names the first trial that it waited for.
  const std::optional<Interruption>& interruption() const { return interruption_; }
  // Whether the gate has once been held past its limit and is not used any more.
  bool gate_expired() const { return gate_expired_; }
  const EventPool& pool() const { return pool_; }

 private:
  class Batch;

  // How many samples from order[first] on are queued before the next wait.
  std::size_t piece(const std::vector<Trial>& trials, const std::vector<std::size_t>& order,
                    std::size_t first, bool gated) const;

  std::shared_ptr<DeviceRuntime> runtime_;
  std::shared_ptr<Host> host_;
  TimerOptions options_;
  EventPool pool_;
  std::unique_ptr<StreamGate> gate_;
  Watchdog watchdog_;  // after the gate: it goes first
  std::optional<Interruption> interruption_;
  bool gate_expired_ = false;
  bool running_ = false;
};

}  // namespace tat
