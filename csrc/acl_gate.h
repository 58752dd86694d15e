// Gates on an Ascend stream. Both are released by a task on a second stream, which any thread may queue.
#pragma once

#include <cstdint>
#include <memory>

#include "acl_library.h"
#include "stream_gate.h"

namespace tat {

// The second stream, and the device context that a thread needs to use it.
class AclOpener {
 public:
  // In the device context of the calling thread.
  explicit AclOpener(std::shared_ptr<const AclLibrary> acl);
  ~AclOpener();
  AclOpener(const AclOpener&) = delete;
  AclOpener& operator=(const AclOpener&) = delete;

  static bool offered(const AclLibrary& acl);
  // Makes the calling thread use the context. The watchdog's thread has none of its own.
  void enter() const;
  acl::aclrtStream stream() const { return stream_; }
  const AclLibrary& acl() const { return *acl_; }

 private:
  std::shared_ptr<const AclLibrary> acl_;
  acl::aclrtContext context_ = nullptr;
  acl::aclrtStream stream_ = nullptr;
};

// A notify: the stream waits for it and resets it, the second stream records it.
class AclNotifyGate final : public StreamGate {
 public:
  explicit AclNotifyGate(std::shared_ptr<const AclLibrary> acl);
  ~AclNotifyGate() override;

  static bool offered(const AclLibrary& acl);
  void close(Stream stream) override;
  void open() override;
  bool bounded() const override { return true; }

 private:
  AclOpener opener_;
  acl::aclrtNotify notify_ = nullptr;
};

// A counter in device memory: the stream waits until it has grown, the second stream writes it.
class AclValueGate final : public StreamGate {
 public:
  explicit AclValueGate(std::shared_ptr<const AclLibrary> acl);
  ~AclValueGate() override;

  static bool offered(const AclLibrary& acl);
  void close(Stream stream) override;
  void open() override;
  bool bounded() const override { return false; }

 private:
  AclOpener opener_;
  void* counter_ = nullptr;
  uint64_t closed_ = 0;  // how often
};

}  // namespace tat
