#include "acl_gate.h"

#include <utility>

namespace tat {
namespace {

constexpr uint64_t kNotifyDefault = 0;
constexpr uint32_t kWaitUntilAtLeast = 0;  // ACL's wait flag for "greater or equal"
constexpr uint32_t kWriteDefault = 0;
// Room for the 64-bit counter on a cache line of its own, whatever the line's size.
constexpr size_t kCounterBytes = 512;

}  // namespace

AclOpener::AclOpener(std::shared_ptr<const AclLibrary> acl) : acl_(std::move(acl)) {
  acl_->check("aclrtGetCurrentContext", acl_->aclrtGetCurrentContext(&context_));
  acl_->check("aclrtCreateStream", acl_->aclrtCreateStream(&stream_));
}

AclOpener::~AclOpener() { acl_->aclrtDestroyStream(stream_); }

bool AclOpener::offered(const AclLibrary& acl) {
  return acl.aclrtGetCurrentContext && acl.aclrtSetCurrentContext && acl.aclrtCreateStream &&
         acl.aclrtDestroyStream;
}

void AclOpener::enter() const {
  acl::aclrtContext current = nullptr;
  if (acl_->aclrtGetCurrentContext(&current) == acl::kAclSuccess && current == context_) return;
  acl_->check("aclrtSetCurrentContext", acl_->aclrtSetCurrentContext(context_));
}

AclNotifyGate::AclNotifyGate(std::shared_ptr<const AclLibrary> acl) : opener_(std::move(acl)) {
  opener_.acl().check("aclrtCreateNotify", opener_.acl().aclrtCreateNotify(&notify_, kNotifyDefault));
}

AclNotifyGate::~AclNotifyGate() { opener_.acl().aclrtDestroyNotify(notify_); }

bool AclNotifyGate::offered(const AclLibrary& acl) {
  return AclOpener::offered(acl) && acl.aclrtCreateNotify && acl.aclrtDestroyNotify &&
         acl.aclrtRecordNotify && acl.aclrtWaitAndResetNotify;
}

void AclNotifyGate::close(Stream stream) {
  const auto limit_ms = static_cast<uint32_t>(kDeviceLimit.count());
  opener_.acl().check("aclrtWaitAndResetNotify",
                      opener_.acl().aclrtWaitAndResetNotify(notify_, stream, limit_ms));
}

void AclNotifyGate::open() {
  opener_.enter();
  opener_.acl().check("aclrtRecordNotify", opener_.acl().aclrtRecordNotify(notify_, opener_.stream()));
}

AclValueGate::AclValueGate(std::shared_ptr<const AclLibrary> acl) : opener_(std::move(acl)) {
  const AclLibrary& call = opener_.acl();
  call.check("aclrtMalloc", call.aclrtMalloc(&counter_, kCounterBytes, acl::ACL_MEM_MALLOC_HUGE_FIRST));
  try {
    call.check("aclrtValueWrite", call.aclrtValueWrite(counter_, 0, kWriteDefault, opener_.stream()));
    call.check("aclrtSynchronizeStream", call.aclrtSynchronizeStream(opener_.stream()));
  } catch (...) {
    call.aclrtFree(counter_);
    throw;
  }
}

AclValueGate::~AclValueGate() { opener_.acl().aclrtFree(counter_); }

bool AclValueGate::offered(const AclLibrary& acl) {
  return AclOpener::offered(acl) && acl.aclrtMalloc && acl.aclrtFree && acl.aclrtValueWrite &&
         acl.aclrtValueWait;
}

void AclValueGate::close(Stream stream) {
  opener_.acl().check("aclrtValueWait",
                      opener_.acl().aclrtValueWait(counter_, closed_ + 1, kWaitUntilAtLeast, stream));
  ++closed_;
}

void AclValueGate::open() {
  opener_.enter();
  opener_.acl().check("aclrtValueWrite",
                      opener_.acl().aclrtValueWrite(counter_, closed_, kWriteDefault, opener_.stream()));
}

}  // namespace tat
