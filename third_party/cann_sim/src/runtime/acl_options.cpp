// acl: options that are accepted and have no effect here, and features that do not exist here.
//
// Options: the simulator's arithmetic is always deterministic, overflow always gives infinity or NaN,
// operators are not compiled, nothing is dumped, and no device hangs. What is set can be read back where ACL
// has a getter.
#include <acl/acl.h>
#include <acl/acl_op_compiler.h>

#include <atomic>

#include "runtime/errors.h"

using namespace cann_sim;

namespace {

std::atomic<int> saturation_mode{ACL_RT_OVERFLOW_MODE_INFNAN};
std::atomic<int64_t> parameters[3];  // aclSysParamOpt

aclError unsupported(const char* call) {
  return set_error(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, std::string(call) + ": not simulated");
}

aclError set_parameter(const char* call, aclSysParamOpt option, int64_t value) {
  if (option < 0 || option > ACL_OPT_STRONG_CONSISTENCY) {
    return set_error(ACL_ERROR_INVALID_PARAM,
                     std::string(call) + ": unknown option " + std::to_string(static_cast<int>(option)));
  }
  parameters[option] = value;
  return ACL_SUCCESS;
}

}  // namespace

extern "C" {

aclError aclSetCompileopt(aclCompileOpt, const char*) { return ACL_SUCCESS; }
aclError aclmdlInitDump() { return ACL_SUCCESS; }
aclError aclmdlSetDump(const char*) { return ACL_SUCCESS; }
aclError aclmdlFinalizeDump() { return ACL_SUCCESS; }
aclError aclrtSetOpWaitTimeout(uint32_t) { return ACL_SUCCESS; }
aclError aclrtSetOpExecuteTimeOut(uint32_t) { return ACL_SUCCESS; }
aclError aclrtSetStreamFailureMode(aclrtStream, uint64_t) { return ACL_SUCCESS; }

aclError aclrtSetDeviceSatMode(aclrtFloatOverflowMode mode) {
  saturation_mode = mode;
  return ACL_SUCCESS;
}

aclError aclrtGetDeviceSatMode(aclrtFloatOverflowMode* mode) {
  if (!mode) return set_error(ACL_ERROR_INVALID_PARAM, "aclrtGetDeviceSatMode: mode is null");
  *mode = static_cast<aclrtFloatOverflowMode>(saturation_mode.load());
  return ACL_SUCCESS;
}

aclError aclrtSetSysParamOpt(aclSysParamOpt option, int64_t value) {
  return set_parameter("aclrtSetSysParamOpt", option, value);
}

aclError aclrtCtxSetSysParamOpt(aclSysParamOpt option, int64_t value) {
  return set_parameter("aclrtCtxSetSysParamOpt", option, value);
}

aclError aclrtGetSysParamOpt(aclSysParamOpt option, int64_t* value) {
  if (!value || option < 0 || option > ACL_OPT_STRONG_CONSISTENCY) {
    return set_error(ACL_ERROR_INVALID_PARAM, "aclrtGetSysParamOpt: value is null or the option is unknown");
  }
  *value = parameters[option];
  return ACL_SUCCESS;
}

// Virtual address ranges and sharing between processes: torch_npu falls back to plain allocation.
aclError aclrtReserveMemAddress(void**, size_t, size_t, void*, uint64_t) {
  return unsupported("aclrtReserveMemAddress");
}
aclError aclrtReleaseMemAddress(void*) { return unsupported("aclrtReleaseMemAddress"); }
aclError aclrtMallocPhysical(aclrtDrvMemHandle*, size_t, const aclrtPhysicalMemProp*, uint64_t) {
  return unsupported("aclrtMallocPhysical");
}
aclError aclrtFreePhysical(aclrtDrvMemHandle) { return unsupported("aclrtFreePhysical"); }
aclError aclrtMapMem(void*, size_t, size_t, aclrtDrvMemHandle, uint64_t) {
  return unsupported("aclrtMapMem");
}
aclError aclrtUnmapMem(void*) { return unsupported("aclrtUnmapMem"); }
aclError aclrtMemExportToShareableHandle(aclrtDrvMemHandle, aclrtMemHandleType, uint64_t, uint64_t*) {
  return unsupported("aclrtMemExportToShareableHandle");
}
aclError aclrtMemImportFromShareableHandle(uint64_t, int32_t, aclrtDrvMemHandle*) {
  return unsupported("aclrtMemImportFromShareableHandle");
}
aclError aclrtMemSetPidToShareableHandle(uint64_t, int32_t*, size_t) {
  return unsupported("aclrtMemSetPidToShareableHandle");
}

// Kernels registered through acl instead of rt: triton-ascend 3.2.0 does not use them.
aclError aclrtBinaryLoadFromData(const void*, size_t, const aclrtBinaryLoadOptions*, aclrtBinHandle*) {
  return unsupported("aclrtBinaryLoadFromData");
}
aclError aclrtBinaryGetFunction(const aclrtBinHandle, const char*, aclrtFuncHandle*) {
  return unsupported("aclrtBinaryGetFunction");
}
aclError aclrtGetFunctionAddr(aclrtFuncHandle, void**, void**) { return unsupported("aclrtGetFunctionAddr"); }

}  // extern "C"
