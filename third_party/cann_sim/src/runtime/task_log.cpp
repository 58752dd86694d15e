#include "runtime/task_log.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "runtime/json.h"

namespace cann_sim {
namespace {

constexpr size_t kBufferBytes = 64 << 10;

}  // namespace

TaskLog::TaskLog(const std::string& path) : owner_(getpid()) {
  file_ = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (file_ < 0) {
    std::fprintf(stderr, "cann_sim: CANN_SIM_TASK_LOG=%s cannot be written: %s\n", path.c_str(),
                 std::strerror(errno));
  }
}

TaskLog::~TaskLog() {
  flush();
  if (file_ >= 0) close(file_);
}

void TaskLog::resolved(const TaskRecord& r) {
  if (file_ < 0 || getpid() != owner_) return;
  char numbers[320];
  std::snprintf(numbers, sizeof numbers,
                "\"object\": %llu, \"blocks\": %u, \"reused\": %s, \"host\": %lld, \"submit\": %lld, "
                "\"start\": %lld, \"end\": %lld, \"thread\": ",
                static_cast<unsigned long long>(r.object), r.blocks, r.reused ? "true" : "false",
                static_cast<long long>(r.host_ns), static_cast<long long>(r.submit_ns),
                static_cast<long long>(r.start_ns), static_cast<long long>(r.end_ns));
  buffer_ += "{\"sequence\": " + std::to_string(r.sequence) + ", \"device\": " + std::to_string(r.device) +
             ", \"stream\": " + std::to_string(r.stream) + ", \"kind\": " + quoted(name_of(r.kind)) +
             ", \"name\": " + quoted(r.name) + ", " + numbers + quoted(r.thread_name) + "}\n";
  if (buffer_.size() > kBufferBytes) flush();
}

void TaskLog::flush() {
  if (file_ < 0 || getpid() != owner_) return;
  const char* at = buffer_.data();
  size_t left = buffer_.size();
  while (left > 0) {
    const ssize_t done = write(file_, at, left);
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) break;
    at += done;
    left -= static_cast<size_t>(done);
  }
  buffer_.clear();
}

}  // namespace cann_sim
