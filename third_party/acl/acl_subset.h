// The part of the ACL interface that this project calls, declared on its own so that a build needs no CANN.
//
// Nothing here is defined or linked: csrc/acl_runtime resolves the functions from libascendcl.so at run time
// and takes only their types from here. tests/test_acl_headers.py compiles these declarations against the
// headers inside the installed torch-npu wheel and fails on any difference in a signature or a value.
#pragma once

#include <cstdint>

namespace tat::acl {

using aclError = int;
using aclrtEvent = void*;
using aclrtStream = void*;

enum aclrtEventRecordedStatus {
  ACL_EVENT_RECORDED_STATUS_NOT_READY = 0,
  ACL_EVENT_RECORDED_STATUS_COMPLETE = 1,
};

constexpr aclError kAclSuccess = 0;           // ACL_SUCCESS
constexpr uint32_t kAclEventTimeLine = 0x8U;  // ACL_EVENT_TIME_LINE, a macro in the original

aclError aclrtCreateEventExWithFlag(aclrtEvent* event, uint32_t flag);
aclError aclrtDestroyEvent(aclrtEvent event);
aclError aclrtRecordEvent(aclrtEvent event, aclrtStream stream);
aclError aclrtQueryEventStatus(aclrtEvent event, aclrtEventRecordedStatus* status);
aclError aclrtSynchronizeEvent(aclrtEvent event);
aclError aclrtEventElapsedTime(float* ms, aclrtEvent start, aclrtEvent end);
aclError aclrtSynchronizeStream(aclrtStream stream);
const char* aclGetRecentErrMsg();

}  // namespace tat::acl

// Every function above, for code that must treat all of them alike (loading, checking).
#define TAT_ACL_FUNCTIONS(X)    \
  X(aclrtCreateEventExWithFlag) \
  X(aclrtDestroyEvent)          \
  X(aclrtRecordEvent)           \
  X(aclrtQueryEventStatus)      \
  X(aclrtSynchronizeEvent)      \
  X(aclrtEventElapsedTime)      \
  X(aclrtSynchronizeStream)     \
  X(aclGetRecentErrMsg)
