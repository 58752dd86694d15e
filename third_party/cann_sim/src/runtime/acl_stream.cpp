// acl: streams and events.
#include <acl/acl.h>

#include "runtime/device.h"
#include "runtime/engine.h"
#include "runtime/runtime.h"

using namespace cann_sim;

namespace {

Engine& engine() { return runtime().engine(); }

}  // namespace

extern "C" {

// ---- streams
aclError aclrtCreateStream(aclrtStream* stream) {
  return engine().create_stream(current_device(), 0, 0, stream);
}

aclError aclrtCreateStreamWithConfig(aclrtStream* stream, uint32_t priority, uint32_t flag) {
  return engine().create_stream(current_device(), priority, flag, stream);
}

aclError aclrtDestroyStream(aclrtStream stream) { return engine().destroy_stream(stream, false); }

aclError aclrtDestroyStreamForce(aclrtStream stream) { return engine().destroy_stream(stream, true); }

aclError aclrtSynchronizeStream(aclrtStream stream) {
  return engine().synchronize_stream(current_device(), stream, -1);
}

aclError aclrtSynchronizeStreamWithTimeout(aclrtStream stream, int32_t timeout_ms) {
  return engine().synchronize_stream(current_device(), stream, timeout_ms);
}

aclError aclrtStreamQuery(aclrtStream stream, aclrtStreamStatus* status) {
  if (!status) return set_error(ACL_ERROR_INVALID_PARAM, "aclrtStreamQuery: status is null");
  bool complete = false;
  if (const aclError error = engine().query_stream(current_device(), stream, &complete)) return error;
  *status = complete ? ACL_STREAM_STATUS_COMPLETE : ACL_STREAM_STATUS_NOT_READY;
  return ACL_SUCCESS;
}

aclError aclrtStreamGetId(aclrtStream stream, int32_t* number) {
  if (!number) return set_error(ACL_ERROR_INVALID_PARAM, "aclrtStreamGetId: streamId is null");
  uint32_t found = 0;
  if (const aclError error = engine().describe_stream(current_device(), stream, &found, nullptr, nullptr))
    return error;
  *number = static_cast<int32_t>(found);
  return ACL_SUCCESS;
}

aclError aclrtStreamGetPriority(aclrtStream stream, uint32_t* priority) {
  if (!priority) return set_error(ACL_ERROR_INVALID_PARAM, "aclrtStreamGetPriority: priority is null");
  return engine().describe_stream(current_device(), stream, nullptr, priority, nullptr);
}

aclError aclrtStreamGetFlags(aclrtStream stream, uint32_t* flags) {
  if (!flags) return set_error(ACL_ERROR_INVALID_PARAM, "aclrtStreamGetFlags: flags is null");
  return engine().describe_stream(current_device(), stream, nullptr, nullptr, flags);
}

// ---- events
aclError aclrtCreateEvent(aclrtEvent* event) { return engine().create_event(ACL_EVENT_TIME_LINE, event); }

aclError aclrtCreateEventWithFlag(aclrtEvent* event, uint32_t flag) {
  return engine().create_event(flag, event);
}

aclError aclrtCreateEventExWithFlag(aclrtEvent* event, uint32_t flag) {
  return engine().create_event(flag, event);
}

aclError aclrtDestroyEvent(aclrtEvent event) { return engine().destroy_event(event); }

aclError aclrtRecordEvent(aclrtEvent event, aclrtStream stream) {
  return engine().record_event(current_device(), event, stream);
}

aclError aclrtResetEvent(aclrtEvent event, aclrtStream stream) {
  return engine().reset_event(current_device(), event, stream);
}

aclError aclrtStreamWaitEvent(aclrtStream stream, aclrtEvent event) {
  return engine().wait_event(current_device(), stream, event);
}

aclError aclrtSynchronizeEvent(aclrtEvent event) { return engine().synchronize_event(event, -1); }

aclError aclrtSynchronizeEventWithTimeout(aclrtEvent event, int32_t timeout_ms) {
  return engine().synchronize_event(event, timeout_ms);
}

aclError aclrtQueryEventStatus(aclrtEvent event, aclrtEventRecordedStatus* status) {
  if (!status) return set_error(ACL_ERROR_INVALID_PARAM, "aclrtQueryEventStatus: status is null");
  bool complete = false;
  if (const aclError error = engine().query_event(event, false, &complete)) return error;
  *status = complete ? ACL_EVENT_RECORDED_STATUS_COMPLETE : ACL_EVENT_RECORDED_STATUS_NOT_READY;
  return ACL_SUCCESS;
}

aclError aclrtQueryEventWaitStatus(aclrtEvent event, aclrtEventWaitStatus* status) {
  if (!status) return set_error(ACL_ERROR_INVALID_PARAM, "aclrtQueryEventWaitStatus: status is null");
  bool complete = false;
  if (const aclError error = engine().query_event(event, true, &complete)) return error;
  *status = complete ? ACL_EVENT_WAIT_STATUS_COMPLETE : ACL_EVENT_WAIT_STATUS_NOT_READY;
  return ACL_SUCCESS;
}

aclError aclrtEventElapsedTime(float* ms, aclrtEvent start, aclrtEvent end) {
  return engine().elapsed(start, end, ms);
}

aclError aclrtEventGetTimestamp(aclrtEvent event, uint64_t* timestamp) {
  if (!timestamp) return set_error(ACL_ERROR_INVALID_PARAM, "aclrtEventGetTimestamp: timestamp is null");
  int64_t ns = 0;
  if (const aclError error = engine().event_time(event, &ns)) return error;
  *timestamp = static_cast<uint64_t>(ns);  // the counter of the simulated device ticks once per nanosecond
  return ACL_SUCCESS;
}

}  // extern "C"
