// The profiler of the process: sessions, and the modules that are told of their start and end.
//
// State lies under the engine's lock, which also keeps it whole across fork(). A child that is forked during
// a session never ends it: the data belongs to the parent.
#pragma once
#include <acl/acl.h>
#include <acl/acl_prof.h>
#include <sys/types.h>

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "profiling/prof_api.h"
#include "profiling/raw_data.h"
#include "profiling/recorder.h"

struct aclprofConfig {
  std::vector<uint32_t> devices;
  uint64_t switches = 0;
  uint32_t metrics = 0;
};

namespace cann_sim::profiling {

class Profiler {
 public:
  Profiler();

  aclError initialize(const std::string& folder);
  aclError finalize();
  aclError start(const aclprofConfig& config);
  aclError stop();

  // A module may register while a session runs: a launcher registers when it is loaded. All of a module's
  // handlers are called: each launcher that triton-ascend compiles registers one of its own for module 8.
  void add_handler(ProfCommandHandle handler);

  uint64_t hash(const std::string& text);
  void report(const MsprofApi& api);
  void report(const MsprofCompactInfo& info);
  void report(const MsprofAdditionalInfo& info);

 private:
  std::string text_of(uint64_t hash) const;
  void notify(const std::vector<ProfCommandHandle>& handlers, MsprofCommandHandleType command) const;

  Recorder recorder_;
  std::string root_;
  Session session_;
  pid_t owner_ = 0;  // of the session
  std::vector<ProfCommandHandle> handlers_;
  std::unordered_map<uint64_t, std::string> texts_;
};

// Never destroyed, like the runtime.
Profiler& profiler();

}  // namespace cann_sim::profiling
