// Msprof* and hal*: what every launcher links. There is no profiler yet: reports are accepted and dropped. A
// profiler is to be a TaskListener (Engine::add_listener) and to live beside this file; without aclprof*
// functions torch_npu's profiler says that it cannot start.
#include <cstdint>
#include <string_view>

#include "profiling/prof_api.h"
#include "runtime/engine.h"
#include "runtime/runtime.h"

using namespace cann_sim;

extern "C" {

// Nothing is ever switched on, so the handler is never called.
int32_t MsprofRegisterCallback(uint32_t, ProfCommandHandle) { return MSPROF_ERROR_NONE; }

int32_t MsprofReportApi(uint32_t, const MsprofApi*) { return MSPROF_ERROR_NONE; }
int32_t MsprofReportCompactInfo(uint32_t, const VOID_PTR, uint32_t) { return MSPROF_ERROR_NONE; }
int32_t MsprofReportAdditionalInfo(uint32_t, const VOID_PTR, uint32_t) { return MSPROF_ERROR_NONE; }

// FNV-1a: the same in every process, unlike std::hash.
uint64_t MsprofGetHashId(const char* text, size_t length) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : std::string_view(text, length))
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

uint64_t MsprofSysCycleTime() { return static_cast<uint64_t>(runtime().engine().host_now()); }

// Below 0x071905 the framework takes time stamps as nanoseconds.
int32_t halGetAPIVersion(int32_t* version) {
  if (!version) return -1;
  *version = 0x071904;
  return 0;
}

int32_t halGetDeviceInfo(uint32_t, int32_t, int32_t, int64_t* value) {
  if (!value) return -1;
  *value = 0;
  return 0;
}

}  // extern "C"
