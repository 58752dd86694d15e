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
  Batch(EventTimer& timer, const std::vector<Trial>& trials, std::size_t capacity)
      : timer_(timer), trials_(trials), events_(timer.pool_, 1 + kEventsPerSample * capacity) {}

  // Takes the samples order[0..count), count > 0: queues all of them, waits for the device, reads the times.
  void take(const std::size_t* order, std::size_t count, Run& run) {
    try {
      queue(order, count);
      at(order[0], Step::kSynchronize);
      timer_.host_->wait([&] { timer_.runtime_->synchronize_stream(*stream_); });
      read(order, count, run);
    } catch (...) {
      abandon();
      throw;
    }
    timer_.interruption_.reset();
  }

 private:
  // START, END, and the end of the iteration where that is later.
  static constexpr std::size_t kEventsPerSample = 3;

  Event opening() const { return events_[0]; }
  Event start(std::size_t i) const { return events_[1 + kEventsPerSample * i]; }
  Event end(std::size_t i) const { return events_[2 + kEventsPerSample * i]; }
  Event closing(std::size_t i) const { return events_[3 + kEventsPerSample * i]; }

  void at(std::size_t trial, Step step) { timer_.interruption_ = Interruption{trial, step}; }

  // The stream is fetched again for every record, because fetching it is what drains the framework's queue.
  // What fails while draining belongs to the work before it, so the record becomes a step of its own only
  // afterwards.
  void record(Event event, std::size_t trial) {
    stream_ = timer_.host_->drained_stream();
    at(trial, Step::kRecord);
    timer_.runtime_->record_event(event, *stream_);
  }

  void queue(const std::size_t* order, std::size_t count) {
    at(order[0], Step::kFlush);
    record(opening(), order[0]);
    for (std::size_t i = 0; i < count; ++i) {
      timer_.host_->check_interrupt();
      queue_sample(i, order[i]);
    }
  }

  void queue_sample(std::size_t i, std::size_t index) {
    const Trial& trial = trials_[index];
    if (trial.before) {
      at(index, Step::kBefore);
      trial.before();
    }
    // After the hooks: what they touched must not be found in the cache either.
    at(index, Step::kFlush);
    timer_.host_->flush();
    record(start(i), index);
    at(index, Step::kLaunch);
    trial.launch();
    record(end(i), index);
    if (trial.after) {
      at(index, Step::kAfter);
      trial.after();
      record(closing(i), index);
    }
  }

  void read(const std::size_t* order, std::size_t count, Run& run) const {
    Event previous = opening();
    for (std::size_t i = 0; i < count; ++i) {
      const Event boundary = trials_[order[i]].after ? closing(i) : end(i);
      const Sample sample{order[i], elapsed(start(i), end(i)), elapsed(previous, boundary)};
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
  EventPool::Lease events_;
  std::optional<Stream> stream_;  // of the last record
};

EventTimer::EventTimer(std::shared_ptr<DeviceRuntime> runtime, std::shared_ptr<Host> host,
                       std::size_t in_flight)
    : runtime_(std::move(runtime)), host_(std::move(host)), in_flight_(in_flight), pool_(runtime_) {
  if (in_flight_ == 0) throw std::invalid_argument("in_flight is 0; at least one sample must be in flight");
}

Run EventTimer::run(const std::vector<Trial>& trials, const std::vector<std::size_t>& order) {
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
  if (!order.empty()) {
    Batch batch(*this, trials, std::min(in_flight_, order.size()));
    for (std::size_t first = 0; first < order.size(); first += in_flight_) {
      batch.take(&order[first], std::min(in_flight_, order.size() - first), run);
    }
  }
  run.host_ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
  return run;
}

}  // namespace tat
