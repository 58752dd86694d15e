// Names -> micro-kernels: expands the families of this folder into all their names once, then looks up.
#include <stdexcept>
#include <unordered_map>

#include "hivm/micro/family.h"

namespace hivm {
namespace micro {
namespace {

struct Entry {
  const Family* family;
  Variant variant;
};

std::string replace(std::string text, std::string_view placeholder, std::string_view value) {
  const size_t at = text.find(placeholder);
  return at == std::string::npos ? text : text.replace(at, placeholder.size(), value);
}

Type known_type(std::string_view word) {
  const auto type = type_named(word);
  if (!type) throw std::logic_error("family table: no type \"" + std::string(word) + '"');
  return *type;
}

const std::vector<const Family*>& all_families() {
  static const std::vector<const Family*> families = [] {
    std::vector<const Family*> all;
    for (const auto* table :
         {&transfer_families(), &elementwise_families(), &cast_families(), &compare_families(),
          &reduce_families(), &scan_families(), &layout_families(), &order_families(), &sync_families(),
          &print_families(), &cube_families(), &product_families()}) {
      for (const Family& family : *table) all.push_back(&family);
    }
    return all;
  }();
  return families;
}

// A list of the table, where "none" is one empty choice so that the loops over choices stay uniform.
std::vector<std::string_view> choices(const char* list) {
  auto words = split_words(list);
  if (words.empty()) words.emplace_back();
  return words;
}

void expand(const Family& family, std::unordered_map<std::string, Entry>& names) {
  for (const auto operation : choices(family.operations)) {
    for (const auto rank : choices(family.ranks)) {
      for (const auto types : choices(family.types)) {
        Variant variant;
        variant.operation = operation;
        variant.shape = rank;
        variant.rank = rank.size() == 1 && rank[0] >= '0' && rank[0] <= '9' ? rank[0] - '0' : 0;
        std::string name = replace(replace(family.pattern, "{op}", operation), "{rank}", rank);
        const size_t colon = types.find(':');
        if (colon != std::string_view::npos) {
          variant.type = known_type(types.substr(0, colon));
          variant.second = known_type(types.substr(colon + 1));
          name = replace(replace(name, "{from}", types.substr(0, colon)), "{to}", types.substr(colon + 1));
        } else if (!types.empty()) {
          variant.type = known_type(types);
          name = replace(name, "{type}", types);
        }
        variant.name = name;
        if (!names.emplace(name, Entry{&family, variant}).second) {
          throw std::logic_error("family table: two families give " + name);
        }
      }
    }
  }
}

const std::unordered_map<std::string, Entry>& all_names() {
  static const std::unordered_map<std::string, Entry> names = [] {
    std::unordered_map<std::string, Entry> all;
    all.reserve(2048);
    for (const Family* family : all_families()) expand(*family, all);
    return all;
  }();
  return names;
}

const char* pipe_name(Pipe pipe) {
  static const char* const names[] = {"S", "V", "M", "MTE1", "MTE2", "MTE3", "FIX", "ALL"};
  return names[static_cast<int>(pipe)];
}

constexpr std::string_view kTypeNames[] = {"float",    "half",     "bfloat16_t", "int64_t",
                                           "int32_t",  "int16_t",  "int8_t",     "uint64_t",
                                           "uint32_t", "uint16_t", "uint8_t",    "bool"};

}  // namespace

std::optional<Type> type_named(std::string_view word) {
  for (size_t i = 0; i < std::size(kTypeNames); i++) {
    if (kTypeNames[i] == word) return static_cast<Type>(i);
  }
  return std::nullopt;
}

std::string_view name_of(Type type) { return kTypeNames[static_cast<int>(type)]; }

std::vector<std::string_view> split_words(std::string_view text) {
  std::vector<std::string_view> words;
  while (!text.empty()) {
    const size_t end = std::min(text.find(' '), text.size());
    if (end > 0) words.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return words;
}

}  // namespace micro

std::shared_ptr<const MicroKernel> find_micro_kernel(std::string_view name) {
  const auto& names = micro::all_names();
  const auto found = names.find(std::string(name));
  return found == names.end() ? nullptr : found->second.family->make(found->second.variant);
}

const std::vector<MicroFamily>& micro_families() {
  static const std::vector<MicroFamily> rows = [] {
    std::vector<MicroFamily> all;
    for (const micro::Family* family : micro::all_families()) {
      std::string operations;
      for (const auto word : micro::split_words(family->operations)) {
        operations += (operations.empty() ? "(" : "|") + std::string(word);
      }
      const std::string pattern = micro::replace(family->pattern, "{op}", operations + ')');
      all.push_back({pattern, micro::pipe_name(family->pipe), family->types, family->ranks});
    }
    return all;
  }();
  return rows;
}

}  // namespace hivm
