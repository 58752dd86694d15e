// Msprof* and hal*: how launchers say what they launch, and what the profiler asks the driver.
#include "profiling/profiler.h"
#include "runtime/engine.h"
#include "runtime/runtime.h"

using namespace cann_sim;
using profiling::profiler;

extern "C" {

int32_t MsprofRegisterCallback(uint32_t, ProfCommandHandle handler) {
  if (!handler) return -1;
  profiler().add_handler(handler);
  return MSPROF_ERROR_NONE;
}

int32_t MsprofReportApi(uint32_t, const MsprofApi* api) {
  if (!api) return -1;
  profiler().report(*api);
  return MSPROF_ERROR_NONE;
}

int32_t MsprofReportCompactInfo(uint32_t, const VOID_PTR data, uint32_t length) {
  if (!data || length < sizeof(MsprofCompactInfo)) return -1;
  profiler().report(*static_cast<const MsprofCompactInfo*>(data));
  return MSPROF_ERROR_NONE;
}

int32_t MsprofReportAdditionalInfo(uint32_t, const VOID_PTR data, uint32_t length) {
  if (!data || length < sizeof(MsprofAdditionalInfo)) return -1;
  profiler().report(*static_cast<const MsprofAdditionalInfo*>(data));
  return MSPROF_ERROR_NONE;
}

uint64_t MsprofGetHashId(const char* text, size_t length) {
  return profiler().hash(std::string(text, length));
}

uint64_t MsprofSysCycleTime() { return static_cast<uint64_t>(runtime().engine().host_now()); }

// Below 0x071905 the framework takes its time stamps as nanoseconds of CLOCK_MONOTONIC_RAW.
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
