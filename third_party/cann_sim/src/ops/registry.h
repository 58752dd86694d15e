// The operators by name, and what an operator is: a function that checks a call and plans its execution.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ops/objects.h"
#include "ops/tensor.h"

namespace cann_sim::ops {

// A call that cannot be executed; `code` is the aclError for the caller.
class InvalidCall : public std::runtime_error {
 public:
  explicit InvalidCall(const std::string& message, int code = ACL_ERROR_INVALID_PARAM)
      : runtime_error(message), code_(code) {}
  int code() const { return code_; }

 private:
  int code_;
};

// Attributes by name; a missing one gives `otherwise`.
class Attributes {
 public:
  explicit Attributes(const aclopAttr* attributes) : values_(attributes ? *attributes : aclopAttr{}) {}
  int64_t integer(std::string_view name, int64_t otherwise) const;
  bool flag(std::string_view name, bool otherwise) const { return integer(name, otherwise) != 0; }
  double number(std::string_view name, double otherwise) const;
  std::vector<int64_t> integers(std::string_view name, std::vector<int64_t> otherwise) const;
  std::string text(std::string_view name, std::string otherwise) const;

 private:
  template <class T>
  const T* find(std::string_view name) const;
  aclopAttr values_;
};

struct Call {
  std::string type;
  std::vector<Tensor> inputs, outputs;
  Attributes attributes{nullptr};

  // Throw InvalidCall when there are fewer.
  const Tensor& input(size_t index) const;
  const Tensor& output(size_t index) const;
};

struct Plan {
  // Computes the outputs on memory. It is run once, in stream order, maybe long after the call: it must own
  // what it uses.
  std::function<void()> compute;
  // Device time beyond which memory traffic is hidden: the arithmetic of a matrix product. 0 for everything
  // bound by memory.
  double compute_ns = 0;
  // The outputs are all zero whatever the inputs hold (compute is not called)...
  bool clears = false;
  // ...or if all inputs in device memory are zero. Known zeros need no real memory, so they are neither read
  // nor written.
  bool keeps_zero = false;
  // The bytes of an output may be all that is known; its shape, decided by compute, is put here (output 0
  // only).
  std::shared_ptr<Shape> result_shape;
};

// The call is shared so that a plan's functions can own it.
using Operator = Plan (*)(const std::shared_ptr<const Call>& call);

class Registry {
 public:
  void add(std::string_view name, Operator op);
  Operator find(std::string_view name) const;  // nullptr if unknown

 private:
  std::unordered_map<std::string, Operator> operators_;
};

// All operators of all families.
const Registry& registry();

// One function per family file.
void add_elementwise(Registry& registry);
void add_unary(Registry& registry);
void add_compare(Registry& registry);
void add_reduce(Registry& registry);
void add_fill(Registry& registry);
void add_layout(Registry& registry);
void add_indexing(Registry& registry);
void add_random(Registry& registry);
void add_linear(Registry& registry);

}  // namespace cann_sim::ops
