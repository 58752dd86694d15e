#include "hivm/race_check.h"

#include <algorithm>

#include "hivm/timeline.h"
#include "hivm/view_check.h"

namespace hivm {
namespace {

template <class Clock>
void join(Clock& clock, const Clock& other) {
  for (size_t i = 0; i < clock.size(); i++) clock[i] = std::max(clock[i], other[i]);
}

bool inside(const Extent& inner, const Extent& outer) {
  return inner.begin >= outer.begin && inner.end <= outer.end;
}

}  // namespace

void RaceCheck::set_flag(Pipe source, Pipe target, int64_t event) {
  Clock stamp = known(source);
  join(stamp, known(Pipe::S));
  stamp[static_cast<size_t>(source)] = count(source);
  flags_[{source, target, event}].push_back(stamp);
}

// A flag that is not there is the timeline's error.
void RaceCheck::wait_flag(Pipe source, Pipe target, int64_t event) {
  std::deque<Clock>& stamps = flags_[{source, target, event}];
  if (stamps.empty()) return;
  join(known(target), stamps.front());
  stamps.pop_front();
}

void RaceCheck::barrier(Pipe pipe) {
  if (pipe == Pipe::All) {
    known_.fill(count_);
    // Everything before is complete for everybody.
    writes_ = reads_ = Table();
    return;
  }
  join(known(pipe), known(Pipe::S));
  known(pipe)[static_cast<size_t>(pipe)] = count(pipe);
}

RaceCheck::Clock RaceCheck::begin_access(Pipe pipe) {
  join(known(pipe), known(Pipe::S));
  Clock seen = known(pipe);
  if (pipe == Pipe::S || pipe == Pipe::M) seen[static_cast<size_t>(pipe)] = count(pipe);
  count(pipe)++;
  return seen;
}

void RaceCheck::issue(const Work& work) {
  if (work.unit_flag != Pipe::All)
    known(work.pipe)[static_cast<size_t>(work.unit_flag)] = count(work.unit_flag);
  const Clock seen = begin_access(work.pipe);
  for (const View* v : work.reads) {
    if (v) touch(work.pipe, seen, v->space, extent_of(*v), false);
  }
  for (const View* v : work.writes) {
    if (v) touch(work.pipe, seen, v->space, extent_of(*v), true);
  }
}

void RaceCheck::access(Pipe pipe, Space space, const Extent& extent, bool write) {
  touch(pipe, begin_access(pipe), space, extent, write);
}

void RaceCheck::touch(Pipe pipe, const Clock& seen, Space space, const Extent& extent, bool write) {
  if (space == Space::Gm || extent.begin == extent.end) return;
  const Access access{extent, pipe, count(pipe), what_, line_};
  const auto s = static_cast<size_t>(space);
  compare(access, seen, space, writes_[s]);
  if (write) compare(access, seen, space, reads_[s]);
  remember(write ? writes_[s] : reads_[s], access, write);
}

void RaceCheck::compare(const Access& access, const Clock& seen, Space space,
                        const std::vector<Access>& earlier) const {
  for (const Access& e : earlier) {
    const bool apart = e.extent.end <= access.extent.begin || access.extent.end <= e.extent.begin;
    if (apart || e.number <= seen[static_cast<size_t>(e.pipe)] ||
        (e.pipe == access.pipe && e.number == access.number))
      continue;
    throw ExecutionError("race in " + std::string(space_name(space)) + ": " + access.what + " on pipe " +
                         pipe_name(access.pipe) + " at line " + std::to_string(access.line) +
                         " touches what " + e.what + " on pipe " + pipe_name(e.pipe) + " at line " +
                         std::to_string(e.line) + " has touched, and no flag or barrier orders the two");
  }
}

// A write makes older writes that it covers uninteresting; so does the same access of the same pipe.
void RaceCheck::remember(std::vector<Access>& table, const Access& access, bool covers) {
  const auto stale = [&](const Access& e) {
    return inside(e.extent, access.extent) &&
           (covers || (e.pipe == access.pipe && inside(access.extent, e.extent)));
  };
  table.erase(std::remove_if(table.begin(), table.end(), stale), table.end());
  table.push_back(access);
}

}  // namespace hivm
