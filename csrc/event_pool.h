// Owns events and lends them out, so that none is created or destroyed while something is being measured.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include "device_runtime.h"

namespace tat {

class EventPool {
 public:
  // A number of borrowed events; gives them back when it goes, also on the way out of an exception.
  // Not copyable: two owners would return the same event twice.
  class Lease {
   public:
    Lease(EventPool& pool, std::size_t count);
    ~Lease();
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;

    Event operator[](std::size_t index) const { return events_[index]; }
    std::size_t size() const { return events_.size(); }

   private:
    EventPool& pool_;
    std::vector<Event> events_;
  };

  explicit EventPool(std::shared_ptr<DeviceRuntime> runtime);
  // All leases must have ended.
  ~EventPool();
  EventPool(const EventPool&) = delete;
  EventPool& operator=(const EventPool&) = delete;

  // Events that exist, and those of them that are not lent.
  std::size_t created() const;
  std::size_t idle() const;

 private:
  std::vector<Event> take(std::size_t count);
  void give_back(const std::vector<Event>& events) noexcept;

  std::shared_ptr<DeviceRuntime> runtime_;
  mutable std::mutex mutex_;  // a lease may end on another thread than the one that took it
  std::vector<Event> idle_;
  std::size_t created_ = 0;
};

}  // namespace tat
