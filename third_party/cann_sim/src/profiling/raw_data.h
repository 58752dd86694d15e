// What a profile leaves on disk, for msprof.
//
//   <folder given to aclprofInit>/PROF_<number>_<time>_SIM<pid>/
//     host/start_info              where real time and the framework's time stamps meet; read by torch_npu
//     host/data/                   empty
//     device_<n>/data/tasks.jsonl  one JSON object per line: first the session, then every task of the device
//     in
//                                  order of submission
//
// Session: "format" 1, "device", "switches" and "metrics" of aclprofCreateConfig, "clock_mhz" of a core,
// "cube_cores", "vector_cores", "crash" (msprof is to die); "wall_ns" (Unix time), "raw_ns"
// (CLOCK_MONOTONIC_RAW) and "virtual_ns" (the host's virtual time) of the same moment, the start.
//
// Task: "sequence" (as in the task log), "stream", "kind" (task.h, name_of), "name", "type", "core" (all
// three as in the columns Op Name, OP Type and Task Type of op_summary), "blocks", "mix_blocks", "thread";
// "submit", "start", "end": virtual ns; "call": virtual ns that the launching call took; "real":
// CLOCK_MONOTONIC_RAW ns of the submission; "pipes": busy ns of S, V, M, MTE1, MTE2, MTE3, FIX, summed over
// cores; "tensors", where known: lists of
// ["in" or "out", shape, type, format].
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "profiling/recorder.h"

namespace cann_sim::profiling {

struct Session {
  std::vector<int32_t> devices;
  uint64_t switches = 0;
  uint32_t metrics = 0;
  int64_t wall_ns = 0, raw_ns = 0, virtual_ns = 0;
  std::string folder;  // the PROF folder; empty if the data is to be lost
};

// Reads the two real clocks. `wall_ns` is cut to microseconds, as start_info holds it.
void stamp(Session& session);

// Makes the folder, below `root`, and what msprof finds in it beside the tasks. Throws std::runtime_error
// that says what could not be made.
void make_folder(Session& session, const std::string& root);

// Writes tasks.jsonl of every device. Throws std::runtime_error.
void write_tasks(const Session& session, const std::vector<ProfiledTask>& tasks);

}  // namespace cann_sim::profiling
