// Sorting.
#include <algorithm>
#include <cmath>

#include "hivm/cost_model.h"
#include "hivm/micro/arguments.h"
#include "hivm/micro/family.h"
#include "hivm/micro/issue.h"
#include "hivm/micro/rows.h"

namespace hivm::micro {
namespace {

// Ascending with NaN last; descending is that order reversed.
template <class T>
void sort_view(const View& source, const View& target, bool descending) {
  const auto* from = reinterpret_cast<const T*>(source.base) + source.offset;
  auto* to = reinterpret_cast<T*>(target.base) + target.offset;
  const int64_t n = source.sizes[0];
  std::vector<float> values(static_cast<size_t>(n));
  for (int64_t i = 0; i < n; i++)
    values[static_cast<size_t>(i)] = static_cast<float>(from[i * source.strides[0]]);
  std::sort(values.begin(), values.end(), [](float a, float b) { return a < b || (b != b && a == a); });
  if (descending) std::reverse(values.begin(), values.end());
  for (int64_t i = 0; i < n; i++) to[i * target.strides[0]] = T(values[static_cast<size_t>(i)]);
}

// sort(source, target, temporary, descending)
class Sort final : public MicroKernel {
 public:
  explicit Sort(const Variant& variant) : name_(variant.name), type_(variant.type) {}

  void run(Core& core, const std::vector<Argument>& given) const override {
    const Arguments arguments(name_, given, 4, 4);
    const View &source = arguments.view(0, type_, 1), &target = arguments.view(1, type_, 1);
    if (source.sizes[0] != target.sizes[0]) fail_shapes(name_, source, target);
    const int64_t n = source.sizes[0];
    constexpr int64_t kSorted =
        32;  // elements that the first instruction sorts; each later pass merges four runs
    int64_t passes = 1;
    for (int64_t run = kSorted; run < n; run *= 4) passes++;
    // An element travels with its index: 8 bytes.
    issue_elements(core, source, 64, passes * cost::kVectorSortCycles, {&source}, {&target});
    const bool descending = arguments.integer(3) & 1;
    if (type_ == Type::Float)
      sort_view<float>(source, target, descending);
    else
      sort_view<Half>(source, target, descending);
  }

 private:
  std::string name_;
  Type type_;
};

KernelPointer make_sort(const Variant& variant) { return std::make_shared<Sort>(variant); }

}  // namespace

const std::vector<Family>& order_families() {
  static const std::vector<Family> families = {
      {"sort_{rank}d_{type}", "", "1", "half float", Pipe::V, make_sort},
  };
  return families;
}

}  // namespace hivm::micro
