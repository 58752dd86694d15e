// Sorting.
#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "hivm/cost_model.h"
#include "hivm/micro/arguments.h"
#include "hivm/micro/family.h"
#include "hivm/micro/issue.h"
#include "hivm/micro/rows.h"

namespace hivm::micro {
namespace {

// Ascending with NaN last; descending with NaN first. Equal numbers stay in their order. `index`: where they
// came from, if that is wanted.
template <class T>
void sort_view(const View& source, const View& target, const View* index, bool descending) {
  const auto* from = reinterpret_cast<const T*>(source.base) + source.offset;
  const auto n = static_cast<size_t>(source.sizes[0]);
  std::vector<std::pair<float, int32_t>> pairs(n);
  for (size_t i = 0; i < n; i++)
    pairs[i] = {static_cast<float>(from[static_cast<int64_t>(i) * source.strides[0]]),
                static_cast<int32_t>(i)};
  const auto below = [](float a, float b) { return a < b || (b != b && a == a); };
  std::stable_sort(pairs.begin(), pairs.end(), [&](const auto& a, const auto& b) {
    return descending ? below(b.first, a.first) : below(a.first, b.first);
  });
  auto* to = reinterpret_cast<T*>(target.base) + target.offset;
  for (const auto& [value, place] : pairs) {
    *to = T(value);
    to += target.strides[0];
  }
  if (!index) return;
  auto* place_to = reinterpret_cast<int32_t*>(index->base) + index->offset;
  for (const auto& [value, place] : pairs) {
    *place_to = place;
    place_to += index->strides[0];
  }
}

// sort(source, target, temporary, descending), sort_with_index(source, target, index, temporary, descending)
class Sort final : public MicroKernel {
 public:
  explicit Sort(const Variant& variant)
      : name_(variant.name), type_(variant.type), indexed_(variant.operation == "sort_with_index") {}

  void run(Core& core, const std::vector<Argument>& given) const override {
    const size_t more = indexed_ ? 1 : 0;
    const Arguments arguments(name_, given, 4 + more, 4 + more);
    const View &source = arguments.view(0, type_, 1), &target = arguments.view(1, type_, 1);
    const View* index = indexed_ ? &arguments.view(2, Type::Int32, 1) : nullptr;
    if (source.sizes[0] != target.sizes[0]) fail_shapes(name_, source, target);
    if (index && source.sizes[0] != index->sizes[0]) fail_shapes(name_, source, *index);
    const int64_t n = source.sizes[0];
    constexpr int64_t kSorted =
        32;  // elements that the first instruction sorts; each later pass merges four runs
    int64_t passes = 1;
    for (int64_t run = kSorted; run < n; run *= 4) passes++;
    // An element travels with its index, wanted or not: 8 bytes.
    const double cycles = static_cast<double>(passes) * cost::kVectorSortCycles;
    if (index)
      issue_elements(core, source, 64, cycles, {&source}, {&target, index});
    else
      issue_elements(core, source, 64, cycles, {&source}, {&target});
    const bool descending = arguments.integer(3 + more) & 1;
    if (type_ == Type::Float)
      sort_view<float>(source, target, index, descending);
    else
      sort_view<Half>(source, target, index, descending);
  }

 private:
  std::string name_;
  Type type_;
  bool indexed_;
};

KernelPointer make_sort(const Variant& variant) { return std::make_shared<Sort>(variant); }

}  // namespace

const std::vector<Family>& order_families() {
  static const std::vector<Family> families = {
      {"{op}_{rank}d_{type}", "sort sort_with_index", "1", "half float", Pipe::V, make_sort},
  };
  return families;
}

}  // namespace hivm::micro
