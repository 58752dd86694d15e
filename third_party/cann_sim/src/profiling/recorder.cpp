#include "profiling/recorder.h"

#include <algorithm>
#include <ctime>
#include <utility>

namespace cann_sim::profiling {
namespace {

int64_t monotonic_raw_ns() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC_RAW, &now);
  return now.tv_sec * 1'000'000'000ll + now.tv_nsec;
}

}  // namespace

void Recorder::begin(std::vector<int32_t> devices) {
  devices_ = std::move(devices);
  tasks_.clear();
  active_ = true;
}

std::vector<ProfiledTask> Recorder::end() {
  active_ = false;
  std::vector<ProfiledTask> done = std::exchange(tasks_, {});
  // A task behind a closed gate has no times.
  done.erase(std::remove_if(done.begin(), done.end(), [](const ProfiledTask& t) { return !t.resolved; }),
             done.end());
  return done;
}

void Recorder::submitted(const TaskRecord& record) {
  if (!active_ || std::find(devices_.begin(), devices_.end(), record.device) == devices_.end()) return;
  ProfiledTask task;
  task.record = record;
  task.real_ns = monotonic_raw_ns();
  tasks_.push_back(std::move(task));
}

void Recorder::resolved(const TaskRecord& record) {
  if (!active_) return;
  const auto found =
      std::lower_bound(tasks_.begin(), tasks_.end(), record.sequence,
                       [](const ProfiledTask& t, uint64_t sequence) { return t.record.sequence < sequence; });
  if (found == tasks_.end() || found->record.sequence != record.sequence) return;  // older than the profile
  found->record = record;
  found->resolved = true;
}

void Recorder::report_launch(uint32_t thread, int64_t begin_ns, int64_t end_ns, const std::string& name) {
  if (!active_) return;
  for (auto task = tasks_.rbegin(); task != tasks_.rend() && task->record.submit_ns >= begin_ns; ++task) {
    const TaskRecord& r = task->record;
    if (r.kind != TaskKind::Kernel || r.thread_id != thread || r.submit_ns > end_ns || !task->name.empty())
      continue;
    task->name = name;
    task->call_ns = end_ns - begin_ns;
  }
}

void Recorder::report_node(uint32_t thread, int64_t time_ns, const std::string& name, const std::string& type,
                           int core, uint32_t block_dim) {
  ProfiledTask* task = last_reported(thread, time_ns);
  if (!task) return;
  task->name = name;
  task->type = type;
  task->core = core;
  task->block_dim = block_dim;
}

void Recorder::report_tensors(uint32_t thread, int64_t time_ns, std::vector<TensorInfo> tensors) {
  if (ProfiledTask* task = last_reported(thread, time_ns)) task->tensors = std::move(tensors);
}

// Nearly always the newest task: a thread reports directly after its launch.
ProfiledTask* Recorder::last_reported(uint32_t thread, int64_t time_ns) {
  if (!active_) return nullptr;
  for (auto task = tasks_.rbegin(); task != tasks_.rend(); ++task) {
    const TaskRecord& r = task->record;
    if (r.kind == TaskKind::Kernel && r.thread_id == thread && r.submit_ns <= time_ns) {
      return task->name.empty() ? nullptr : &*task;
    }
  }
  return nullptr;
}

}  // namespace cann_sim::profiling
