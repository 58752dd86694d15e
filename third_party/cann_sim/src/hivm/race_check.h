// Finds accesses to local memory that neither a flag nor a barrier orders (off unless a launch asks for it).
//
// Vector clocks: every pipe counts its accesses, and knows up to which access each other pipe is done. A flag
// carries what its source pipe knew and did, a barrier what the pipe itself did; the scalar unit's knowledge
// passes to whatever it issues. Standing on the same pipe orders nothing, except on S and on M, whose
// products into one accumulator follow each other.
#pragma once
#include <array>
#include <deque>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "hivm/micro.h"

namespace hivm {

class RaceCheck {
 public:
  // What the following accesses belong to, for messages.
  void enter(const std::string& what, int line) {
    what_ = what;
    line_ = line;
  }
  void set_flag(Pipe source, Pipe target, int64_t event);
  void wait_flag(Pipe source, Pipe target, int64_t event);
  void barrier(Pipe pipe);
  // Both throw ExecutionError when an earlier access to the same bytes is not known to be complete.
  void issue(const Work& work);
  void access(Pipe pipe, Space space, const Extent& extent, bool write);
  void reset() { *this = RaceCheck(); }

 private:
  using Clock = std::array<int64_t, kPipes>;
  struct Access {
    Extent extent;
    Pipe pipe = Pipe::S;
    int64_t number = 0;  // among those of its pipe
    std::string what;
    int line = 0;
  };
  using Table = std::array<std::vector<Access>, 4>;  // by Space

  Clock& known(Pipe pipe) { return known_[static_cast<size_t>(pipe)]; }
  int64_t& count(Pipe pipe) { return count_[static_cast<size_t>(pipe)]; }
  Clock begin_access(Pipe pipe);  // counts it; returns what it may rely on
  void touch(Pipe pipe, const Clock& seen, Space space, const Extent& extent, bool write);
  void compare(const Access& access, const Clock& seen, Space space,
               const std::vector<Access>& earlier) const;
  static void remember(std::vector<Access>& table, const Access& access, bool covers);

  std::array<Clock, kPipes> known_{};
  Clock count_{};
  std::map<std::tuple<Pipe, Pipe, int64_t>, std::deque<Clock>> flags_;
  Table writes_, reads_;
  std::string what_;
  int line_ = 0;
};

}  // namespace hivm
