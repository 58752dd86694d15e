// What the measuring loop needs of a device, whatever its vendor.
#pragma once

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace tat {

// Opaque handles. They belong to the runtime that made them and are valid in the device context of the
// calling thread.
using Stream = void*;
using Event = void*;

// A call into the device's library that failed: which call, its code, and what the library says about it.
class DeviceError : public std::runtime_error {
 public:
  DeviceError(std::string call, int code, std::string detail);

  const std::string& call() const { return call_; }
  int code() const { return code_; }
  const std::string& detail() const { return detail_; }

 private:
  std::string call_;
  int code_;
  std::string detail_;
};

// A runtime library that is missing or lacks a function.
class LibraryError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class StreamGate;

class DeviceRuntime {
 public:
  virtual ~DeviceRuntime() = default;

  // An event that takes device time when the stream reaches it and can be recorded again and again.
  virtual Event create_event() = 0;
  // Called from destructors: a failure can only be ignored.
  virtual void destroy_event(Event event) noexcept = 0;
  virtual void record_event(Event event, Stream stream) = 0;
  // True once the device has passed the last record.
  virtual bool query_event(Event event) = 0;
  virtual void synchronize_event(Event event) = 0;
  virtual void synchronize_stream(Stream stream) = 0;
  // Milliseconds of device time between two events that both have been passed.
  virtual double elapsed_ms(Event start, Event end) = 0;
  // A stream of its own, which waits for no other.
  virtual Stream create_stream() = 0;
  virtual void destroy_stream(Stream stream) noexcept = 0;
  // The kinds of gate that the library offers, the preferred one first. Whether they work only a probe can
  // tell.
  virtual std::vector<std::string> gate_kinds() const = 0;
  // An open gate for streams of the calling thread's device context, which must outlive it.
  virtual std::unique_ptr<StreamGate> make_gate(const std::string& kind) = 0;
};

}  // namespace tat
