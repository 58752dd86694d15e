#include "event_pool.h"

#include <utility>

namespace tat {

EventPool::EventPool(std::shared_ptr<DeviceRuntime> runtime) : runtime_(std::move(runtime)) {}

EventPool::~EventPool() {
  for (Event event : idle_) runtime_->destroy_event(event);
}

std::size_t EventPool::created() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return created_;
}

std::size_t EventPool::idle() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return idle_.size();
}

std::vector<Event> EventPool::take(std::size_t count) {
  const std::lock_guard<std::mutex> lock(mutex_);
  // Room for every event that can exist after this call, so that the return of a lease never allocates.
  idle_.reserve(created_ + count);
  while (idle_.size() < count) {
    idle_.push_back(runtime_->create_event());
    ++created_;
  }
  std::vector<Event> taken(idle_.end() - static_cast<std::ptrdiff_t>(count), idle_.end());
  idle_.resize(idle_.size() - count);
  return taken;
}

void EventPool::give_back(const std::vector<Event>& events) noexcept {
  const std::lock_guard<std::mutex> lock(mutex_);
  idle_.insert(idle_.end(), events.begin(), events.end());
}

EventPool::Lease::Lease(EventPool& pool, std::size_t count) : pool_(pool), events_(pool.take(count)) {}

EventPool::Lease::~Lease() { pool_.give_back(events_); }

}  // namespace tat
