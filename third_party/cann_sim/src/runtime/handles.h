// Opaque handles: the address of an object that a table owns, so that a foreign or destroyed handle is
// recognised.
#pragma once
#include <memory>
#include <unordered_map>

namespace cann_sim {

template <class T>
class HandleTable {
 public:
  void* add(std::shared_ptr<T> object) {
    void* const handle = object.get();
    table_[handle] = std::move(object);
    return handle;
  }
  std::shared_ptr<T> find(const void* handle) const {
    const auto found = table_.find(handle);
    return found == table_.end() ? nullptr : found->second;
  }
  bool remove(const void* handle) { return table_.erase(handle) != 0; }

 private:
  std::unordered_map<const void*, std::shared_ptr<T>> table_;
};

}  // namespace cann_sim
