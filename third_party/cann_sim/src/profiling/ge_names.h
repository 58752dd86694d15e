// Names that msprof prints for numbers which launchers report.
#pragma once
#include <cstdint>
#include <string>

namespace cann_sim::profiling {

std::string core_name(uint32_t task_type);     // MsprofGeTaskType: "AI_VECTOR_CORE"
std::string data_type_name(uint32_t ge_type);  // "FLOAT"
std::string format_name(uint32_t ge_format);   // "ND"

}  // namespace cann_sim::profiling
