// What the profiler calls an operator.
#pragma once
#include <string>

namespace cann_sim::profiling {

// The name of the row of an operator: "aclnn<Api>_<L0 operator>AiCore_<type>", as torch_npu's operators are
// named where they go through libopapi (the simulator receives them by aclopCompileAndExecute, but consumers
// look for these names). The column Type holds the type itself.
std::string operator_row_name(const std::string& type);

// Whether it runs on cube cores.
bool is_cube_operator(const std::string& type);

}  // namespace cann_sim::profiling
