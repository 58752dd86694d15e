#include "profiling/operator_names.h"

#include <map>
#include <set>

namespace cann_sim::profiling {
namespace {

struct Names {
  const char *api, *level0;
};

// Only where they differ from the type. Others follow the pattern of aclnnAdd_AddAiCore_Add.
const std::map<std::string, Names>& known_names() {
  static const std::map<std::string, Names> names = {
      {"ReduceSum", {"ReduceSum", "ReduceSumOp"}},
      {"ZerosLike", {"InplaceZero", "ZerosLike"}},
  };
  return names;
}

}  // namespace

std::string operator_row_name(const std::string& type) {
  const auto known = known_names().find(type);
  const std::string api = known == known_names().end() ? type : known->second.api;
  const std::string level0 = known == known_names().end() ? type : known->second.level0;
  return "aclnn" + api + "_" + level0 + "AiCore_" + type;
}

bool is_cube_operator(const std::string& type) {
  static const std::set<std::string> cube = {"MatMul",        "MatMulV2", "BatchMatMul",
                                             "BatchMatMulV2", "Conv2D",   "FlashAttentionScore"};
  return cube.count(type) != 0;
}

}  // namespace cann_sim::profiling
