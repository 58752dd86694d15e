// Sorting, selection and running extremes along an axis. NaN counts as larger than every number, as in torch.
#include <algorithm>
#include <numeric>

#include "ops/axes.h"
#include "ops/map.h"
#include "ops/registry.h"

namespace cann_sim::ops {
namespace {

template <class C>
bool less(C a, C b) {
  return a < b || (b != b && a == a);
}

// The places of a line's elements in sorted order; equal elements keep theirs.
template <class C>
std::vector<int64_t> order_of(const std::vector<C>& line, bool descending) {
  std::vector<int64_t> order(line.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    return descending ? less(line[b], line[a]) : less(line[a], line[b]);
  });
  return order;
}

template <class C>
std::vector<C> read_line(const std::vector<C>& all, const Lines& lines, int64_t line) {
  std::vector<C> values(static_cast<size_t>(lines.length));
  for (int64_t i = 0; i < lines.length; i++) values[i] = all[lines.start(line) + i * lines.stride];
  return values;
}

// The first `kept` elements of each sorted line, and their places.
Plan sort_lines(const std::shared_ptr<const Call>& call, int64_t axis, bool descending, int64_t kept) {
  const Tensor& x = call->input(0);
  axis = normal_axis(axis, x.shape.size());
  const Lines lines(x.shape, axis);
  if (kept < 0 || kept > lines.length)
    throw InvalidCall(std::to_string(kept) + " elements of a dimension of " + std::to_string(lines.length));
  for (size_t k = 0; k < 2; k++)
    if (call->output(k).count() != lines.count * kept)
      throw InvalidCall("output shape " + text_of(call->output(k).shape) + " does not fit",
                        ACL_ERROR_OP_OUTPUT_NOT_MATCH);
  Plan plan;
  plan.compute = [call, lines, descending, kept] {
    const Tensor &in = call->inputs[0], &values = call->outputs[0], &places = call->outputs[1];
    with_arithmetic(arithmetic_of(in.type), [&](auto zero) {
      using C = decltype(zero);
      std::vector<C> all(static_cast<size_t>(in.count())), sorted(static_cast<size_t>(values.count()));
      std::vector<int64_t> indices(sorted.size());
      load(in.type, in.data, 0, in.count(), all.data());
      for (int64_t line = 0; line < lines.count; line++) {
        const std::vector<C> own = read_line(all, lines, line);
        const std::vector<int64_t> order = order_of(own, descending);
        const int64_t first = line / lines.stride * lines.stride * kept + line % lines.stride;
        for (int64_t i = 0; i < kept; i++) {
          sorted[first + i * lines.stride] = own[order[i]];
          indices[first + i * lines.stride] = order[i];
        }
      }
      store(values.type, values.data, 0, values.count(), sorted.data());
      store(places.type, places.data, 0, places.count(), indices.data());
    });
  };
  return plan;
}

Plan plan_sort(const std::shared_ptr<const Call>& call) {
  const Shape& shape = call->input(0).shape;
  const int64_t axis = normal_axis(call->attributes.integer("axis", -1), shape.size());
  return sort_lines(call, axis, call->attributes.flag("descending", false), Lines(shape, axis).length);
}

// (x, k)
Plan plan_top_k(const std::shared_ptr<const Call>& call) {
  return sort_lines(call, call->attributes.integer("dim", -1), call->attributes.flag("largest", true),
                    integer_of(call->input(1)));
}

// The largest (or smallest) element so far and its place, the last of equal ones; NaN stays.
template <bool Largest>
Plan running_extreme(const std::shared_ptr<const Call>& call) {
  const Tensor& x = call->input(0);
  const int64_t axis = normal_axis(call->attributes.integer("dim", 0), x.shape.size());
  for (size_t k = 0; k < 2; k++)
    if (call->output(k).shape != x.shape)
      throw InvalidCall("the outputs must have the input's shape", ACL_ERROR_OP_OUTPUT_NOT_MATCH);
  Plan plan;
  plan.compute = [call, axis] {
    const Tensor &in = call->inputs[0], &values = call->outputs[0], &places = call->outputs[1];
    const Lines lines(in.shape, axis);
    with_arithmetic(arithmetic_of(in.type), [&](auto zero) {
      using C = decltype(zero);
      std::vector<C> all(static_cast<size_t>(in.count()));
      std::vector<int64_t> indices(all.size());
      load(in.type, in.data, 0, in.count(), all.data());
      for (int64_t line = 0; line < lines.count && lines.length; line++) {
        int64_t best = 0;
        C* first = all.data() + lines.start(line);
        for (int64_t i = 0; i < lines.length; i++) {
          const C value = first[i * lines.stride], so_far = first[best * lines.stride];
          const bool better =
              value != value || (so_far == so_far && (Largest ? value >= so_far : value <= so_far));
          if (better) best = i;
          indices[lines.start(line) + i * lines.stride] = best;
        }
        // Backwards: the places point at elements that are still as they were.
        for (int64_t i = lines.length; i-- > 0;)
          first[i * lines.stride] = first[indices[lines.start(line) + i * lines.stride] * lines.stride];
      }
      store(values.type, values.data, 0, values.count(), all.data());
      store(places.type, places.data, 0, places.count(), indices.data());
    });
  };
  return plan;
}

// The different values, sorted; the place of each element's value among them; how often each occurs. How many
// there are is known afterwards.
Plan plan_unique(const std::shared_ptr<const Call>& call) {
  const Tensor& x = call->input(0);
  const bool inverse = call->attributes.flag("return_inverse", false),
             counts = call->attributes.flag("return_counts", false);
  call->output(2);
  if (call->output(0).count() < x.count() || (inverse && call->output(1).count() < x.count()) ||
      (counts && call->output(2).count() < x.count()))
    throw InvalidCall("an output may be too small", ACL_ERROR_OP_OUTPUT_NOT_MATCH);
  Plan plan;
  plan.result_shapes = std::make_shared<std::vector<Shape>>();
  plan.compute = [call, inverse, counts, result = plan.result_shapes] {
    const Tensor& in = call->inputs[0];
    with_arithmetic(arithmetic_of(in.type), [&](auto zero) {
      using C = decltype(zero);
      std::vector<C> all(static_cast<size_t>(in.count())), values;
      std::vector<int64_t> places(all.size()), repeats;
      load(in.type, in.data, 0, in.count(), all.data());
      for (int64_t at : order_of(all, false)) {
        if (values.empty() || values.back() != all[at]) {
          values.push_back(all[at]);
          repeats.push_back(0);
        }
        places[at] = static_cast<int64_t>(values.size()) - 1;
        repeats.back()++;
      }
      auto put = [&](size_t k, const auto& list) {
        const Tensor& out = call->outputs[k];
        store(out.type, out.data, 0, static_cast<int64_t>(list.size()), list.data());
      };
      put(0, values);
      if (inverse) put(1, places);
      if (counts) put(2, repeats);
      *result = {{static_cast<int64_t>(values.size())},
                 call->outputs[1].shape,
                 {counts ? static_cast<int64_t>(repeats.size()) : 1}};
    });
  };
  return plan;
}

}  // namespace

void add_sorting(Registry& r) {
  r.add("Sort", plan_sort);
  r.add("TopKV2", plan_top_k);
  r.add("Cummax", running_extreme<true>);
  r.add("Cummin", running_extreme<false>);
  r.add("UniqueWithCountsAndSorting", plan_unique);
}

}  // namespace cann_sim::ops
