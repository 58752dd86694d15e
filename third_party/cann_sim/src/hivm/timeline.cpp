#include "hivm/timeline.h"

#include <algorithm>
#include <string>

#include "hivm/cost_model.h"

namespace hivm {
namespace {

std::string flag_name(Pipe source, Pipe target, int64_t event) {
  return std::string("flag ") + pipe_name(source) + "->" + pipe_name(target) + " event " +
         std::to_string(event);
}

}  // namespace

const char* pipe_name(Pipe pipe) {
  constexpr const char* kNames[] = {"S", "V", "M", "MTE1", "MTE2", "MTE3", "FIX", "ALL"};
  return kNames[static_cast<int>(pipe)];
}

void Timeline::issue(Pipe pipe, const Cycles& busy, const Cycles& latency) {
  const int p = static_cast<int>(pipe);
  busy_[p] += busy[kWarm];
  if (pipe == Pipe::S) {
    // The scalar unit is the issuer: it goes on only when the work is done.
    for (int s = 0; s < kScenarios; s++) now_[s] = std::max(now_[s], hold_[s][p]) + busy[s] + latency[s];
    return;
  }
  spend(cost::kIssueCycles);
  for (int s = 0; s < kScenarios; s++) {
    const double start = std::max({free_[s][p], hold_[s][p], now_[s]});
    free_[s][p] = start + busy[s];
    done_[s][p] = std::max(done_[s][p], free_[s][p] + latency[s]);
  }
}

Timeline::Flag& Timeline::flag(Pipe source, Pipe target, int64_t event) {
  if (event < 0 || event >= kEvents)
    throw ExecutionError(flag_name(source, target, event) + " does not exist");
  uint8_t& number = flag_numbers_[static_cast<int>(source)][static_cast<int>(target)][event];
  if (number == 0) {
    if (flags_used_ == static_cast<int>(flags_.size()))
      throw ExecutionError("the kernel uses too many different flags");
    number = static_cast<uint8_t>(++flags_used_);
  }
  return flags_[number - 1];
}

void Timeline::set_flag(Pipe source, Pipe target, int64_t event) {
  Flag& f = flag(source, target, event);
  if (f.count == kOutstanding) {
    throw ExecutionError(flag_name(source, target, event) + " is set again and again without a wait");
  }
  Cycles& time = f.times[(f.first + f.count++) % kOutstanding];
  time = done(source);
  for (double& t : time) t += cost::kFlagCycles;
}

void Timeline::wait_flag(Pipe source, Pipe target, int64_t event) {
  Flag& f = flag(source, target, event);
  if (f.count == 0) {
    throw ExecutionError(flag_name(source, target, event) +
                         " is waited for but was never set: the core would hang");
  }
  const Cycles time = f.times[f.first];
  f.first = static_cast<uint8_t>((f.first + 1) % kOutstanding);
  f.count--;
  hold(target, time);
}

Cycles Timeline::done(Pipe pipe) const {
  const int p = static_cast<int>(pipe);
  Cycles time{};
  for (int s = 0; s < kScenarios; s++) time[s] = std::max({now_[s], hold_[s][p], done_[s][p]});
  return time;
}

void Timeline::hold(Pipe pipe, const Cycles& time) {
  for (int s = 0; s < kScenarios; s++) {
    double& earliest = pipe == Pipe::S ? now_[s] : hold_[s][static_cast<int>(pipe)];
    earliest = std::max(earliest, time[s]);
  }
}

void Timeline::barrier(Pipe pipe) {
  for (int s = 0; s < kScenarios; s++) {
    if (pipe == Pipe::All) {
      for (const double done : done_[s]) now_[s] = std::max(now_[s], done);
    } else {
      const int p = static_cast<int>(pipe);
      hold_[s][p] = std::max(hold_[s][p], done_[s][p]);
    }
  }
}

Cycles Timeline::end() const {
  Cycles end = now_;
  for (int s = 0; s < kScenarios; s++) {
    for (const double done : done_[s]) end[s] = std::max(end[s], done);
  }
  return end;
}

int Timeline::flags_left() const {
  int left = 0;
  for (int i = 0; i < flags_used_; i++) left += flags_[i].count;
  return left;
}

}  // namespace hivm
