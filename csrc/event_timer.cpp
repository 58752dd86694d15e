#include "event_timer.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <stdexcept>
#include <string>
#include <utility>

namespace tat {
namespace {

bool is_time(double ms) { return std::isfinite(ms) && ms > 0; }

bool has_hooks(const Trial& trial) { return trial.before || trial.after; }

class FlagGuard {
 public:
  explicit FlagGuard(bool& flag) : flag_(flag) { flag_ = true; }
  ~FlagGuard() { flag_ = false; }
  FlagGuard(const FlagGuard&) = delete;
  FlagGuard& operator=(const FlagGuard&) = delete;

 private:
  bool& flag_;
};

}  // namespace

const char* step_name(Step step) {
  switch (step) {
    case Step::kBefore:
      return "before";
    case Step::kFlush:
      return "flush";
    case Step::kLaunch:
      return "launch";
    case Step::kAfter:
      return "after";
    case Step::kRecord:
      return "record";
    case Step::kSynchronize:
      return "synchronize";
  }
  return "unknown";
}

// The samples between two waits for the device. Owns the events they are recorded with.
class EventTimer::Batch {
 public:
  Batch(EventTimer& timer, const std::vector<Trial>& trials, const std::vector<std::size_t>& order,
        std::size_t capacity)
      : timer_(timer),
        trials_(trials),
        order_(order),
        events_(timer.pool_, kEvents + kEventsPerSample * capacity) {}

  // Takes the samples order[first..first + count), count > 0: queues all of them, waits for the device, reads
  // the times. False if the gate was held past its limit: then nothing is taken.
  bool take(std::size_t first, std::size_t count, bool gated, Run& run) {
    first_ = first;
    count_ = count;
    try {
      const bool in_time = gated ? queue_gated() : queue_ungated();
      at(order_[first_], Step::kSynchronize);
      timer_.host_->wait([&] { timer_.runtime_->synchronize_stream(*stream_); });
      if (in_time) read(gated, run);
      timer_.interruption_.reset();
      return in_time;
    } catch (...) {
      abandon();
      throw;
    }
  }

 private:
  static constexpr std::size_t kEvents = 3;
  // START, END, and the end of the iteration where that is later.
  static constexpr std::size_t kEventsPerSample = 3;

  Event opening() const { return events_[0]; }
  Event released() const { return events_[1]; }
  Event finished() const { return events_[2]; }
  Event start(std::size_t i) const { return events_[kEvents + kEventsPerSample * i]; }
  Event end(std::size_t i) const { return events_[kEvents + 1 + kEventsPerSample * i]; }
  Event closing(std::size_t i) const { return events_[kEvents + 2 + kEventsPerSample * i]; }

  std::size_t index(std::size_t i) const { return order_[first_ + i]; }
  const Trial& trial(std::size_t i) const { return trials_[index(i)]; }
  bool primed() const { return timer_.options_.prime && !has_hooks(trial(0)); }

  void at(std::size_t trial, Step step) { timer_.interruption_ = Interruption{trial, step}; }

  // The stream is fetched again for every record, because fetching it is what drains the framework's queue.
  // What fails while draining belongs to the work before it, so the record becomes a step of its own only
  // afterwards.
  void record(Event event, std::size_t trial) {
    stream_ = timer_.host_->drained_stream();
    at(trial, Step::kRecord);
    timer_.runtime_->record_event(event, *stream_);
  }

  bool queue_ungated() {
    open_iteration();
    if (primed()) {
      prime();
      record(released(), index(0));
    }
    for (std::size_t i = 0; i < count_; ++i) {
      timer_.host_->check_interrupt();
      before(i);
      timed(i);
      after(i);
    }
    return true;
  }

  bool queue_gated() {
    open_iteration();
    if (has_hooks(trial(0))) {
      timer_.host_->check_interrupt();
      before(0);
      GateHold hold = close_gate();
      timed(0);
      at(index(0), Step::kFlush);
      timer_.host_->trail();
      const bool in_time = hold.open();
      after(0);
      return in_time;
    }
    GateHold hold = close_gate();
    if (primed()) prime();
    record(released(), index(0));
    for (std::size_t i = 0; i < count_; ++i) {
      timer_.host_->check_interrupt();
      timed(i);
    }
    trail();
    record(finished(), index(0));
    return hold.open();
  }

  void open_iteration() {
    at(index(0), Step::kFlush);
    record(opening(), index(0));
  }

  // Where hooks have queued work meanwhile, it must lie before the gate.
  GateHold close_gate() {
    stream_ = timer_.host_->drained_stream();
    at(index(0), Step::kRecord);
    return GateHold(*timer_.gate_, timer_.watchdog_, *stream_, timer_.options_.gate_limit);
  }

  void prime() {
    at(index(0), Step::kLaunch);
    trial(0).launch();
  }

  // The last launches before a stream runs dry read shorter: by 8 % for a kernel of 7 us on an H200, where
  // this begins as soon as fewer than about eight launches are queued behind. So something follows.
  void trail() {
    at(index(0), Step::kFlush);
    if (timer_.host_->trail()) return;
    if (primed()) {
      prime();
    } else {
      timer_.host_->flush();
    }
  }

  void before(std::size_t i) {
    if (!trial(i).before) return;
    at(index(i), Step::kBefore);
    trial(i).before();
  }

  void timed(std::size_t i) {
    // After the hooks: what they touched must not be found in the cache either.
    at(index(i), Step::kFlush);
    timer_.host_->flush();
    record(start(i), index(i));
    at(index(i), Step::kLaunch);
    trial(i).launch();
    record(end(i), index(i));
  }

  void after(std::size_t i) {
    if (!trial(i).after) return;
    at(index(i), Step::kAfter);
    trial(i).after();
    record(closing(i), index(i));
  }

  void read(bool gated, Run& run) const {
    const bool framed = primed() || (gated && !has_hooks(trial(0)));
    // Waiting at the gate, priming and trailer serve all samples of the piece alike.
    double shared = 0;
    if (framed) shared += elapsed(opening(), released());
    if (framed && gated) shared += elapsed(end(count_ - 1), finished());
    shared /= static_cast<double>(count_);
    Event previous = framed ? released() : opening();
    for (std::size_t i = 0; i < count_; ++i) {
      const Event boundary = trial(i).after ? closing(i) : end(i);
      const Sample sample{index(i), first_ + i, elapsed(start(i), end(i)),
                          elapsed(previous, boundary) + shared};
      previous = boundary;
      if (is_time(sample.kernel_ms) && is_time(sample.iteration_ms)) {
        run.samples.push_back(sample);
      } else {
        run.rejected.push_back(sample.trial);
      }
    }
  }

  double elapsed(Event from, Event to) const { return timer_.runtime_->elapsed_ms(from, to); }

  // Leaves the stream empty, so that the events may be recorded again. The failure that led here is what the
  // caller must see; another one on the way is of no interest.
  void abandon() noexcept {
    if (!stream_) return;
    try {
      timer_.host_->wait([&] { timer_.runtime_->synchronize_stream(*stream_); });
    } catch (...) {
    }
  }

  EventTimer& timer_;
  const std::vector<Trial>& trials_;
  const std::vector<std::size_t>& order_;
  EventPool::Lease events_;
  std::size_t first_ = 0;
  std::size_t count_ = 0;
  std::optional<Stream> stream_;  // of the last record
};

EventTimer::EventTimer(std::shared_ptr<DeviceRuntime> runtime, std::shared_ptr<Host> host,
                       TimerOptions options, std::unique_ptr<StreamGate> gate)
    : runtime_(std::move(runtime)),
      host_(std::move(host)),
      options_(options),
      pool_(runtime_),
      gate_(std::move(gate)) {
  if (options_.in_flight == 0) {
    throw std::invalid_argument("in_flight is 0; at least one sample must be in flight");
  }
  if (options_.gate_limit <= std::chrono::milliseconds::zero() || options_.gate_limit >= kDeviceLimit) {
    throw std::invalid_argument("gate_limit_ms is " + std::to_string(options_.gate_limit.count()) +
                                "; allowed are 1 to " + std::to_string(kDeviceLimit.count() - 1));
  }
}

Run EventTimer::run(const std::vector<Trial>& trials, const std::vector<std::size_t>& order, bool gated) {
  // Reached again from a callable, or from another thread during a wait. Every tuning has a timer of its own.
  if (running_) throw std::logic_error("EventTimer.run is already running; use one timer per tuning");
  for (std::size_t index : order) {
    if (index >= trials.size()) {
      throw std::out_of_range("order holds " + std::to_string(index) + "; allowed are the indices of the " +
                              std::to_string(trials.size()) + " trials");
    }
  }
  const FlagGuard guard(running_);
  interruption_.reset();
  const auto begin = std::chrono::steady_clock::now();
  Run run;
  run.samples.reserve(order.size());
  run.gated = gated && gate_ && !gate_expired_;
  if (!order.empty()) {
    Batch batch(*this, trials, order, std::min(options_.in_flight, order.size()));
    for (std::size_t first = 0; first < order.size();) {
      const std::size_t count = piece(trials, order, first, run.gated);
      if (batch.take(first, count, run.gated, run)) {
        first += count;
      } else {
        gate_expired_ = true;
        run.gated = false;
      }
    }
  }
  run.host_ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
  return run;
}

std::size_t EventTimer::piece(const std::vector<Trial>& trials, const std::vector<std::size_t>& order,
                              std::size_t first, bool gated) const {
  const std::size_t limit = std::min(options_.in_flight, order.size() - first);
  if (!gated) return limit;
  if (has_hooks(trials[order[first]])) return 1;
  std::size_t count = 1;
  while (count < limit && !has_hooks(trials[order[first + count]])) ++count;
  return count;
}

}  // namespace tat
