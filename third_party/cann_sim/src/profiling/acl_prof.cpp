// aclprof*: what torch_npu's profiler calls, and which features it may ask for.
#include <acl/acl_prof.h>

#include <cstdio>
#include <memory>
#include <string>

#include "profiling/profiler.h"
#include "runtime/config.h"
#include "runtime/errors.h"

using namespace cann_sim;
using profiling::profiler;

namespace {

// A feature as torch_npu reads it. No string may be empty.
struct Feature {
  void* unused_before;
  char name[64];
  void* unused_after;
  char compatibility[16], version[16], component[16], component_version[16], info[128];
};
static_assert(sizeof(Feature) == 272, "the layout that torch_npu reads");

// Without ATTR it warns at every start; names that it does not know make it warn as well.
Feature features[] = {{nullptr, "ATTR", nullptr, "0", "1", "all", "all", "simulated"},
                      {nullptr, "MemoryAccess", nullptr, "0", "1", "all", "all", "simulated"}};

}  // namespace

extern "C" {

// The folder's name is not always terminated.
aclError aclprofInit(const char* folder, size_t length) {
  if (!folder || length == 0)
    return set_error(ACL_ERROR_INVALID_PARAM, "aclprofInit: the folder is null or empty");
  return profiler().initialize(std::string(folder, length).c_str());
}

aclError aclprofFinalize() { return profiler().finalize(); }

aclprofConfig* aclprofCreateConfig(uint32_t* devices, uint32_t count, aclprofAicoreMetrics metrics,
                                   const aclprofAicoreEvents*, uint64_t data_types) {
  auto made = std::make_unique<aclprofConfig>();
  for (uint32_t i = 0; devices && i < count; i++) {
    if (devices[i] >= static_cast<uint32_t>(config().devices)) {
      set_error(ACL_ERROR_INVALID_PARAM, "aclprofCreateConfig: device " + std::to_string(devices[i]) +
                                             "; there are " + std::to_string(config().devices));
      return nullptr;
    }
    made->devices.push_back(devices[i]);
  }
  if (made->devices.empty()) {
    set_error(ACL_ERROR_INVALID_PARAM, "aclprofCreateConfig: no devices are given");
    return nullptr;
  }
  made->switches = data_types;
  made->metrics = static_cast<uint32_t>(metrics);
  return made.release();
}

// torch_npu passes on a null that aclprofCreateConfig has returned.
aclError aclprofDestroyConfig(const aclprofConfig* config) {
  delete config;
  return ACL_SUCCESS;
}

aclError aclprofStart(const aclprofConfig* config) {
  if (!config) return set_error(ACL_ERROR_INVALID_PARAM, "aclprofStart: the configuration is null");
  return profiler().start(*config);
}

aclError aclprofStop(const aclprofConfig* config) {
  if (!config) return set_error(ACL_ERROR_INVALID_PARAM, "aclprofStop: the configuration is null");
  return profiler().stop();
}

// Hardware that is sampled besides tasks (memory, links, host): none is simulated, so there is nothing to
// set.
aclError aclprofSetConfig(aclprofConfigType, const char*, size_t) { return ACL_SUCCESS; }
// Before the first recorded step of a schedule: nothing here needs time to get ready.
aclError aclprofWarmup(const aclprofConfig*) { return ACL_SUCCESS; }
aclError aclprofRegisterDeviceCallback() { return ACL_SUCCESS; }
// User marks are not part of the exported files.
aclError aclprofMarkEx(const char*, size_t, aclrtStream) { return ACL_SUCCESS; }

aclError aclprofGetSupportedFeatures(size_t* count, void** records) {
  if (!count || !records) {
    return set_error(ACL_ERROR_INVALID_PARAM, "aclprofGetSupportedFeatures: count or records is null");
  }
  *count = std::size(features);
  *records = features;
  return ACL_SUCCESS;
}

aclError aclprofGetSupportedFeaturesV2(size_t* count, void** records) {
  return aclprofGetSupportedFeatures(count, records);
}

}  // extern "C"
