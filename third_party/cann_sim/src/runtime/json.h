// Text as a JSON string, for the task log and the profiler's raw data.
#pragma once
#include <string>

namespace cann_sim {

std::string quoted(const std::string& text);  // with the quotes

}  // namespace cann_sim
