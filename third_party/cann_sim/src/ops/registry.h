// The operators by name, and what an operator is: a function that checks a call and plans its execution.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
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
  // "axes = [0, 1], keep_dims = 1"
  std::string to_text() const;

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
  // Types, shapes and small constants of all operands, and the attributes: what is needed to add an operator.
  std::string to_text() const;
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
  // The bytes of outputs may be all that is known; their shapes, decided by compute, are put here.
  std::shared_ptr<std::vector<Shape>> result_shapes;
};

// The call is shared so that a plan's functions can own it.
using Operator = Plan (*)(const std::shared_ptr<const Call>& call);

class Registry {
 public:
  void add(std::string_view name, Operator op);
  Operator find(std::string_view name) const;  // nullptr if unknown
  std::vector<std::string> names() const;      // in order

 private:
  std::map<std::string, Operator, std::less<>> operators_;
};

// All operators of all families.
const Registry& registry();

// A family of operators: one file, and one function that adds what is in it.
struct Family {
  const char* title;
  void (*add)(Registry& registry);
};
const std::vector<Family>& families();

void add_elementwise(Registry& registry);
void add_unary(Registry& registry);
void add_activations(Registry& registry);
void add_compare(Registry& registry);
void add_reduce(Registry& registry);
void add_sorting(Registry& registry);
void add_fill(Registry& registry);
void add_layout(Registry& registry);
void add_padding(Registry& registry);
void add_indexing(Registry& registry);
void add_scatter(Registry& registry);
void add_random(Registry& registry);
void add_linear(Registry& registry);
void add_attention(Registry& registry);
void add_convolution(Registry& registry);
void add_normalise(Registry& registry);
void add_losses(Registry& registry);

}  // namespace cann_sim::ops
