// The part of the ACL interface that this project calls, declared on its own so that a build needs no CANN.
//
// Nothing here is defined or linked: csrc/acl_runtime resolves the functions from libascendcl.so at run time
// and takes only their types from here. tests/test_acl_headers.py compiles these declarations against the
// headers inside the installed torch-npu wheel and fails on any difference in a signature or a value.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tat::acl {

using aclError = int;
using aclrtEvent = void*;
using aclrtStream = void*;
using aclrtNotify = void*;
using aclrtContext = void*;

enum aclrtEventRecordedStatus {
  ACL_EVENT_RECORDED_STATUS_NOT_READY = 0,
  ACL_EVENT_RECORDED_STATUS_COMPLETE = 1,
};

enum aclrtMemMallocPolicy {
  ACL_MEM_MALLOC_HUGE_FIRST = 0,
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

// What gates are made of. A library may lack them: then there is no gate.
aclError aclrtGetCurrentContext(aclrtContext* context);
aclError aclrtSetCurrentContext(aclrtContext context);
aclError aclrtCreateStream(aclrtStream* stream);
aclError aclrtDestroyStream(aclrtStream stream);
aclError aclrtCreateNotify(aclrtNotify* notify, uint64_t flag);
aclError aclrtDestroyNotify(aclrtNotify notify);
aclError aclrtRecordNotify(aclrtNotify notify, aclrtStream stream);
aclError aclrtWaitAndResetNotify(aclrtNotify notify, aclrtStream stream, uint32_t timeout_ms);
aclError aclrtMalloc(void** address, size_t bytes, aclrtMemMallocPolicy policy);
aclError aclrtFree(void* address);
aclError aclrtValueWrite(void* address, uint64_t value, uint32_t flag, aclrtStream stream);
aclError aclrtValueWait(void* address, uint64_t value, uint32_t flag, aclrtStream stream);

}  // namespace tat::acl

// Every function above, for code that must treat all of them alike (loading, checking): first those that
// measuring cannot do without, then those of the gates.
#define TAT_ACL_FUNCTIONS(X)    \
  X(aclrtCreateEventExWithFlag) \
  X(aclrtDestroyEvent)          \
  X(aclrtRecordEvent)           \
  X(aclrtQueryEventStatus)      \
  X(aclrtSynchronizeEvent)      \
  X(aclrtEventElapsedTime)      \
  X(aclrtSynchronizeStream)     \
  X(aclGetRecentErrMsg)
#define TAT_ACL_GATE_FUNCTIONS(X) \
  X(aclrtGetCurrentContext)       \
  X(aclrtSetCurrentContext)       \
  X(aclrtCreateStream)            \
  X(aclrtDestroyStream)           \
  X(aclrtCreateNotify)            \
  X(aclrtDestroyNotify)           \
  X(aclrtRecordNotify)            \
  X(aclrtWaitAndResetNotify)      \
  X(aclrtMalloc)                  \
  X(aclrtFree)                    \
  X(aclrtValueWrite)              \
  X(aclrtValueWait)
