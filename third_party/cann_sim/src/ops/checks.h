// Checks that operators share. All throw InvalidCall.
#pragma once
#include <string>
#include <vector>

#include "ops/registry.h"

namespace cann_sim::ops {

inline void check_same_type(const Tensor& a, const Tensor& b) {
  if (a.type != b.type)
    throw InvalidCall(
        std::string("operands of different types: ") + type_name(a.type) + " and " + type_name(b.type),
        ACL_ERROR_OP_INPUT_NOT_MATCH);
}

inline void check_output_shape(const Call& call, const Shape& expected) {
  if (call.output(0).shape != expected)
    throw InvalidCall(
        "output shape " + text_of(call.output(0).shape) + ", but " + text_of(expected) + " is expected",
        ACL_ERROR_OP_OUTPUT_NOT_MATCH);
}

inline void check_length(const std::vector<int64_t>& values, size_t length, const char* what) {
  if (values.size() != length)
    throw InvalidCall(std::string(what) + " has " + std::to_string(values.size()) + " values, but " +
                      std::to_string(length) + " are expected");
}

}  // namespace cann_sim::ops
