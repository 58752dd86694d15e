// The pipes of one core in time.
//
// The scalar unit S issues in program order. An operation given to a pipe starts when the pipe is free, when
// the flags it waited for and its barriers allow, and when S has issued it. It occupies its pipe for `busy`
// cycles; its result is complete `latency` cycles later, so independent neighbours overlap in their latency
// and a barrier makes the next one wait. Two scenarios run side by side: cold (first touches of global memory
// miss L2) and warm (everything hits).
#pragma once
#include <array>
#include <cstdint>

#include "hivm/micro.h"

namespace hivm {

enum Scenario : int { kCold = 0, kWarm = 1, kScenarios = 2 };

using Cycles = std::array<double, kScenarios>;

const char* pipe_name(Pipe pipe);

class Timeline {
 public:
  static constexpr int kEvents = 16;  // per pair of pipes; the compiler uses 0 to 7

  // Everything starts at zero with all pipes idle and all flags clear.
  void reset() { *this = Timeline(); }

  void spend(double cycles) {
    for (double& t : now_) t += cycles;
  }
  void spend(const Cycles& cycles) {
    for (int s = 0; s < kScenarios; s++) now_[s] += cycles[s];
  }

  void issue(Pipe pipe, const Cycles& busy, const Cycles& latency);
  // Both throw ExecutionError: for an event that does not exist, a wait that would hang, a flag that
  // overflows.
  void set_flag(Pipe source, Pipe target, int64_t event);
  void wait_flag(Pipe source, Pipe target, int64_t event);
  void barrier(Pipe pipe);
  // When all that the pipe was given so far is complete; its flags and those of other cores go up then.
  Cycles done(Pipe pipe) const;
  // The pipe (for S: everything that follows) goes on at this time at the earliest.
  void hold(Pipe pipe, const Cycles& time);

  // When everything that was issued is complete.
  Cycles end() const;
  // Cycles that a pipe was occupied, in the warm scenario.
  double busy(Pipe pipe) const { return busy_[static_cast<int>(pipe)]; }
  // Flags that were set and never waited for.
  int flags_left() const;

 private:
  static constexpr int kOutstanding = 8;  // sets of one flag; in every known module at most one
  struct Flag {
    uint8_t count = 0, first = 0;
    std::array<Cycles, kOutstanding> times{};
  };
  Flag& flag(Pipe source, Pipe target, int64_t event);

  Cycles now_{};                          // the scalar unit
  double free_[kScenarios][kPipes] = {};  // the pipe can start something
  double hold_[kScenarios][kPipes] = {};  // waits and barriers allow it
  double done_[kScenarios][kPipes] = {};  // everything given to it is complete
  double busy_[kPipes] = {};
  // Sparse in use, small in total; only the pairs that a kernel uses are touched.
  std::array<std::array<std::array<uint8_t, kEvents>, kPipes>, kPipes> flag_numbers_{};
  std::array<Flag, 64> flags_{};
  int flags_used_ = 0;
};

}  // namespace hivm
