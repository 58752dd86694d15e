#include "ops/registry.h"

namespace cann_sim::ops {

template <class T>
const T* Attributes::find(std::string_view name) const {
  auto found = values_.values.find(name);
  if (found == values_.values.end()) return nullptr;
  const T* value = std::get_if<T>(&found->second);
  if (!value) throw InvalidCall("attribute " + std::string(name) + " has an unexpected type");
  return value;
}

int64_t Attributes::integer(std::string_view name, int64_t otherwise) const {
  const auto* value = find<int64_t>(name);
  return value ? *value : otherwise;
}
double Attributes::number(std::string_view name, double otherwise) const {
  const auto* value = find<double>(name);
  return value ? *value : otherwise;
}
std::vector<int64_t> Attributes::integers(std::string_view name, std::vector<int64_t> otherwise) const {
  const auto* value = find<std::vector<int64_t>>(name);
  return value ? *value : otherwise;
}
std::string Attributes::text(std::string_view name, std::string otherwise) const {
  const auto* value = find<std::string>(name);
  return value ? *value : otherwise;
}

const Tensor& Call::input(size_t index) const {
  if (index >= inputs.size())
    throw InvalidCall(
        "input " + std::to_string(index) + " is missing; " + std::to_string(inputs.size()) + " are given",
        ACL_ERROR_OP_INPUT_NOT_MATCH);
  return inputs[index];
}
const Tensor& Call::output(size_t index) const {
  if (index >= outputs.size())
    throw InvalidCall(
        "output " + std::to_string(index) + " is missing; " + std::to_string(outputs.size()) + " are given",
        ACL_ERROR_OP_OUTPUT_NOT_MATCH);
  return outputs[index];
}

void Registry::add(std::string_view name, Operator op) {
  if (!operators_.emplace(name, op).second)
    throw std::logic_error("operator registered twice: " + std::string(name));
}

Operator Registry::find(std::string_view name) const {
  auto found = operators_.find(std::string(name));
  return found == operators_.end() ? nullptr : found->second;
}

const Registry& registry() {
  static const Registry* all = [] {
    auto* r = new Registry;  // never destroyed: torch_npu's queue thread may outlive static destructors
    add_elementwise(*r);
    add_unary(*r);
    add_compare(*r);
    add_reduce(*r);
    add_fill(*r);
    add_layout(*r);
    add_indexing(*r);
    add_random(*r);
    add_linear(*r);
    return r;
  }();
  return *all;
}

}  // namespace cann_sim::ops
