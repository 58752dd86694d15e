#include "acl_runtime.h"

#include <stdexcept>

#include "acl_gate.h"

namespace tat {

AclRuntime::AclRuntime(const std::string& library) : acl_(std::make_shared<AclLibrary>(library)) {}

std::optional<std::string> AclRuntime::simulator_version() const {
  if (!acl_->cann_sim_version) return std::nullopt;
  return acl_->cann_sim_version();
}

Event AclRuntime::create_event() {
  Event event = nullptr;
  // The "Ex" kind may be recorded again without a reset, so that a pool can reuse it.
  acl_->check("aclrtCreateEventExWithFlag", acl_->aclrtCreateEventExWithFlag(&event, acl::kAclEventTimeLine));
  return event;
}

void AclRuntime::destroy_event(Event event) noexcept { acl_->aclrtDestroyEvent(event); }

void AclRuntime::record_event(Event event, Stream stream) {
  acl_->check("aclrtRecordEvent", acl_->aclrtRecordEvent(event, stream));
}

bool AclRuntime::query_event(Event event) {
  auto status = acl::ACL_EVENT_RECORDED_STATUS_NOT_READY;
  acl_->check("aclrtQueryEventStatus", acl_->aclrtQueryEventStatus(event, &status));
  return status == acl::ACL_EVENT_RECORDED_STATUS_COMPLETE;
}

void AclRuntime::synchronize_event(Event event) {
  acl_->check("aclrtSynchronizeEvent", acl_->aclrtSynchronizeEvent(event));
}

void AclRuntime::synchronize_stream(Stream stream) {
  acl_->check("aclrtSynchronizeStream", acl_->aclrtSynchronizeStream(stream));
}

double AclRuntime::elapsed_ms(Event start, Event end) {
  float ms = 0;
  acl_->check("aclrtEventElapsedTime", acl_->aclrtEventElapsedTime(&ms, start, end));
  return ms;
}

Stream AclRuntime::create_stream() {
  if (!acl_->aclrtCreateStream || !acl_->aclrtDestroyStream) {
    throw LibraryError("the Ascend runtime library " + acl_->path + " cannot create streams");
  }
  Stream stream = nullptr;
  acl_->check("aclrtCreateStream", acl_->aclrtCreateStream(&stream));
  return stream;
}

void AclRuntime::destroy_stream(Stream stream) noexcept { acl_->aclrtDestroyStream(stream); }

std::vector<std::string> AclRuntime::gate_kinds() const {
  std::vector<std::string> kinds;
  if (AclNotifyGate::offered(*acl_)) kinds.push_back("notify");
  if (AclValueGate::offered(*acl_)) kinds.push_back("value");
  return kinds;
}

std::unique_ptr<StreamGate> AclRuntime::make_gate(const std::string& kind) {
  if (kind == "notify" && AclNotifyGate::offered(*acl_)) return std::make_unique<AclNotifyGate>(acl_);
  if (kind == "value" && AclValueGate::offered(*acl_)) return std::make_unique<AclValueGate>(acl_);
  throw std::invalid_argument("gate is '" + kind + "'; " + acl_->path + " offers notify and value at most");
}

}  // namespace tat
