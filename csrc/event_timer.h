// The measuring loop: samples of several trials, taken in a given order on one stream.
//
// One sample is, in this order on the stream:   [before] flush START launch END [after]
// Kernel time is END - START. The whole iteration reaches from the end of the sample before it to its own
// end.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "device_runtime.h"
#include "event_pool.h"

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
  double kernel_ms = 0;
  double iteration_ms = 0;
};

struct Run {
  std::vector<Sample> samples;  // in the order they were taken
  std::vector<std::size_t>
      rejected;        // the trial of each sample whose times were zero, negative or not finite
  double host_ms = 0;  // wall time of the whole call; for information, never for a decision
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
  // in_flight: samples queued before the device is waited for. 64 keeps a stream, which holds about a
  // thousand tasks, well below the point where queueing itself would block.
  EventTimer(std::shared_ptr<DeviceRuntime> runtime, std::shared_ptr<Host> host, std::size_t in_flight = 64);

  // Takes one sample of trials[i] for each i in order. Whatever a callable throws comes out unchanged, after
  // the stream has been waited for and the events have gone back to the pool; interruption() then tells where
  // it was.
  Run run(const std::vector<Trial>& trials, const std::vector<std::size_t>& order);

  // Where the last run ended early, or nothing. A failed wait names the first trial that it waited for.
  const std::optional<Interruption>& interruption() const { return interruption_; }
  const EventPool& pool() const { return pool_; }

 private:
  class Batch;

  std::shared_ptr<DeviceRuntime> runtime_;
  std::shared_ptr<Host> host_;
  std::size_t in_flight_;
  EventPool pool_;
  std::optional<Interruption> interruption_;
  bool running_ = false;
};

}  // namespace tat
