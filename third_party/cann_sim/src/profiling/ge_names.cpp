#include "profiling/ge_names.h"

#include <map>

namespace cann_sim::profiling {
namespace {

std::string find(const std::map<uint32_t, const char*>& names, uint32_t number) {
  const auto found = names.find(number);
  return found == names.end() ? std::to_string(number) : found->second;
}

}  // namespace

std::string core_name(uint32_t task_type) {
  static const std::map<uint32_t, const char*> names = {
      {0, "AI_CORE"}, {1, "AI_CPU"}, {2, "AI_VECTOR_CORE"}, {4, "MIX_AIC"}, {5, "MIX_AIV"}};
  return find(names, task_type);
}

// The numbers that triton-ascend's launchers use (backends/ascend/utils.py).
std::string data_type_name(uint32_t ge_type) {
  static const std::map<uint32_t, const char*> names = {
      {0, "FLOAT"},   {1, "FLOAT16"}, {2, "INT8"},     {3, "INT32"},        {4, "UINT8"},
      {6, "INT16"},   {7, "UINT16"},  {8, "UINT32"},   {9, "INT64"},        {10, "UINT64"},
      {11, "DOUBLE"}, {12, "BOOL"},   {27, "DT_BF16"}, {35, "FLOAT8_E5M2"}, {36, "FLOAT8_E4M3FN"}};
  return find(names, ge_type);
}

std::string format_name(uint32_t ge_format) {
  static const std::map<uint32_t, const char*> names = {{0, "NCHW"}, {1, "NHWC"}, {2, "ND"}};
  return find(names, ge_format);
}

}  // namespace cann_sim::profiling
