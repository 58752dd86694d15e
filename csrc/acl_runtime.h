// The Ascend runtime.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "acl_library.h"
#include "device_runtime.h"
#include "stream_gate.h"

namespace tat {

class AclRuntime final : public DeviceRuntime {
 public:
  // See AclLibrary.
  explicit AclRuntime(const std::string& library = "libascendcl.so");
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
  Stream create_stream() override;
  void destroy_stream(Stream stream) noexcept override;
  // "notify" and "value", as far as the library has their functions.
  std::vector<std::string> gate_kinds() const override;
  std::unique_ptr<StreamGate> make_gate(const std::string& kind) override;

  const std::string& library_path() const { return acl_->path; }
  // The version of the simulated CANN, or nothing on a real one.
  std::optional<std::string> simulator_version() const;

 private:
  std::shared_ptr<const AclLibrary> acl_;  // shared with the gates
};

}  // namespace tat
