// The Ascend runtime, resolved from libascendcl.so when it is first needed.
#pragma once

#include <optional>
#include <string>

#include "acl_subset.h"
#include "device_runtime.h"

namespace tat {

class AclRuntime final : public DeviceRuntime {
 public:
  // library: a soname, or the path of a file. Throws LibraryError if it cannot be loaded or lacks a function.
  explicit AclRuntime(const std::string& library = "libascendcl.so");
  // The library is never unloaded: torch_npu uses the same one, and its threads outlive this object.
  ~AclRuntime() override = default;
  AclRuntime(const AclRuntime&) = delete;
  AclRuntime& operator=(const AclRuntime&) = delete;

  Event create_event() override;
  void destroy_event(Event event) noexcept override;
  void record_event(Event event, Stream stream) override;
  bool query_event(Event event) override;
  void synchronize_event(Event event) override;
  void synchronize_stream(Stream stream) override;
  double elapsed_ms(Event start, Event end) override;

  // The file that was loaded.
  const std::string& library_path() const { return library_path_; }
  // The version of the simulated CANN, or nothing on a real one.
  const std::optional<std::string>& simulator_version() const { return simulator_version_; }

 private:
  struct Functions {
#define TAT_ACL_MEMBER(name) decltype(&acl::name) name = nullptr;
    TAT_ACL_FUNCTIONS(TAT_ACL_MEMBER)
#undef TAT_ACL_MEMBER
  };

  void check(const char* call, acl::aclError code) const;

  Functions acl_;
  std::string library_path_;
  std::optional<std::string> simulator_version_;
};

}  // namespace tat
