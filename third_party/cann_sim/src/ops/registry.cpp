#include "ops/registry.h"

#include <sstream>

#include "ops/convert.h"

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

namespace {

template <class T>
std::string value_text(const T& value) {
  if constexpr (std::is_same_v<T, std::string>) {
    return '"' + value + '"';
  } else if constexpr (std::is_arithmetic_v<T>) {
    std::ostringstream text;
    text << value;
    return text.str();
  } else {
    std::string text = "[";
    for (const auto& item : value) text += (text.size() > 1 ? ", " : "") + value_text(item);
    return text + "]";
  }
}

std::string operands_text(const std::vector<Tensor>& operands) {
  constexpr int64_t kShown = 8;  // values of a constant
  std::string text;
  for (const Tensor& t : operands) {
    text += (text.empty() ? "" : ", ") + std::string(type_name(t.type)) + ' ' + text_of(t.shape);
    if (!t.on_host() || t.count() > kShown) continue;
    std::vector<double> values(static_cast<size_t>(t.count()));
    load(t.type, t.data, 0, t.count(), values.data());
    text += " = " + value_text(values);
  }
  return text;
}

}  // namespace

std::string Attributes::to_text() const {
  std::string text;
  for (const auto& [name, value] : values_.values)
    text += (text.empty() ? "" : ", ") + name + " = " +
            std::visit([](const auto& v) { return value_text(v); }, value);
  return text;
}

std::string Call::to_text() const {
  return "inputs: " + operands_text(inputs) + "; outputs: " + operands_text(outputs) +
         "; attributes: " + attributes.to_text();
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
  auto found = operators_.find(name);
  return found == operators_.end() ? nullptr : found->second;
}

std::vector<std::string> Registry::names() const {
  std::vector<std::string> names;
  for (const auto& [name, op] : operators_) names.push_back(name);
  return names;
}

const std::vector<Family>& families() {
  static const std::vector<Family> all = {
      {"two to four operands", add_elementwise},
      {"one operand", add_unary},
      {"activations", add_activations},
      {"comparisons and choices", add_compare},
      {"reductions", add_reduce},
      {"sorting", add_sorting},
      {"made from numbers", add_fill},
      {"moves and casts", add_layout},
      {"shifts and padding", add_padding},
      {"reading by index", add_indexing},
      {"writing by index", add_scatter},
      {"random numbers", add_random},
      {"products", add_linear},
      {"attention", add_attention},
      {"convolution", add_convolution},
      {"normalisations", add_normalise},
      {"losses", add_losses},
  };
  return all;
}

const Registry& registry() {
  static const Registry* all = [] {
    auto* r = new Registry;  // never destroyed: torch_npu's queue thread may outlive static destructors
    for (const Family& family : families()) family.add(*r);
    return r;
  }();
  return *all;
}

}  // namespace cann_sim::ops

// One line for each family: its title, a tab, its operators. For the table in the README.
extern "C" const char* cann_sim_operators() {
  static const std::string text = [] {
    std::string lines;
    for (const auto& family : cann_sim::ops::families()) {
      cann_sim::ops::Registry own;
      family.add(own);
      lines += std::string(family.title) + '\t';
      for (const std::string& name : own.names()) lines += name + ' ';
      lines.back() = '\n';
    }
    return lines;
  }();
  return text.c_str();
}
