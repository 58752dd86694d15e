// Who calls, for the task log and the profiler.
#pragma once
#include <string>

namespace cann_sim {

long current_thread_id();           // as the kernel numbers it
std::string current_thread_name();  // as the kernel names it: "python", "acl_thread"

}  // namespace cann_sim
