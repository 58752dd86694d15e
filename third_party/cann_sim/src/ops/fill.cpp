// Tensors made from scalars.
#include <algorithm>
#include <cmath>

#include "ops/map.h"
#include "ops/registry.h"

namespace cann_sim::ops {
namespace {

Plan plan_zeros(const std::shared_ptr<const Call>& call) {
  call->output(0);
  Plan plan;
  plan.clears = true;
  return plan;
}

template <class C>
void fill(const Tensor& out, C value) {
  C block[kBlock];
  std::fill_n(block, kBlock, value);
  for (int64_t at = 0; at < out.count(); at += kBlock)
    store(out.type, out.data, at, std::min(kBlock, out.count() - at), block);
}

// Every element becomes the same value; zero needs no memory.
template <class C>
Plan fill_with(const std::shared_ptr<const Call>& call, C value) {
  call->output(0);
  Plan plan;
  plan.clears = value == 0 && !std::signbit(static_cast<double>(value));
  plan.compute = [call, value] { fill(call->outputs[0], value); };
  return plan;
}

Plan plan_ones(const std::shared_ptr<const Call>& call) { return fill_with<int64_t>(call, 1); }

// (shape, value); the value may be computed on the device.
Plan plan_fill(const std::shared_ptr<const Call>& call) {
  const Tensor& value = call->input(1);
  if (!value.on_host()) {
    if (value.count() != 1) throw InvalidCall("one value is expected, not " + text_of(value.shape));
    Plan plan;
    plan.keeps_zero = true;
    plan.compute = [call] {
      with_arithmetic(arithmetic_of(call->inputs[1].type), [&](auto zero) {
        load(call->inputs[1].type, call->inputs[1].data, 0, 1, &zero);
        fill(call->outputs[0], zero);
      });
    };
    return plan;
  }
  return arithmetic_of(value.type) == Arithmetic::Integer ? fill_with(call, integer_of(value))
                                                          : fill_with(call, number_of(value));
}
Plan plan_fills(const std::shared_ptr<const Call>& call) {
  return fill_with(call, call->attributes.number("value", 0));
}

// out[i] = f(i), computed in arithmetic C.
template <class C, class F>
Plan generate(const std::shared_ptr<const Call>& call, F f) {
  Plan plan;
  plan.compute = [call, f] {
    const Tensor& out = call->outputs[0];
    C block[kBlock];
    for (int64_t at = 0; at < out.count(); at += kBlock) {
      const int64_t n = std::min(kBlock, out.count() - at);
      for (int64_t i = 0; i < n; i++) block[i] = f(at + i);
      store(out.type, out.data, at, n, block);
    }
  };
  return plan;
}

// (start, end, step); the output's size has been worked out by torch_npu.
Plan plan_range(const std::shared_ptr<const Call>& call) {
  const Tensor &start = call->input(0), &step = call->input(2);
  if (arithmetic_of(call->output(0).type) == Arithmetic::Integer &&
      arithmetic_of(start.type) == Arithmetic::Integer) {
    const auto first = static_cast<uint64_t>(integer_of(start)), by = static_cast<uint64_t>(integer_of(step));
    return generate<int64_t>(
        call, [first, by](int64_t i) { return static_cast<int64_t>(first + by * uint64_t(i)); });
  }
  const double first = number_of(start), by = number_of(step);
  return generate<double>(call, [first, by](int64_t i) { return first + by * static_cast<double>(i); });
}

// (start, end, count); counted from the nearer end, so that both are exact.
Plan plan_lin_space(const std::shared_ptr<const Call>& call) {
  const double first = number_of(call->input(0)), last = number_of(call->input(1));
  const int64_t n = call->output(0).count();
  const double step = n > 1 ? (last - first) / static_cast<double>(n - 1) : 0;
  return generate<double>(call, [first, last, step, n](int64_t i) {
    return i < n / 2 || n == 1 ? first + step * static_cast<double>(i)
                               : last - step * static_cast<double>(n - 1 - i);
  });
}

// base^x for x evenly from start to end.
Plan plan_log_space(const std::shared_ptr<const Call>& call) {
  const double first = call->attributes.number("start", 0), last = call->attributes.number("end", 1),
               base = call->attributes.number("base", 10);
  const int64_t n = call->output(0).count();
  const double step = n > 1 ? (last - first) / static_cast<double>(n - 1) : 0;
  return generate<double>(
      call, [first, step, base](int64_t i) { return std::pow(base, first + step * static_cast<double>(i)); });
}

Plan plan_eye(const std::shared_ptr<const Call>& call) {
  const Shape& shape = call->output(0).shape;
  if (shape.size() != 2) throw InvalidCall("the output must be a matrix, not " + text_of(shape));
  const int64_t columns = shape[1];
  return generate<int64_t>(call, [columns](int64_t i) { return int64_t{i / columns == i % columns}; });
}

}  // namespace

void add_fill(Registry& r) {
  r.add("ZerosLike", plan_zeros);
  r.add("OnesLike", plan_ones);
  r.add("Fill", plan_fill);
  r.add("Fills", plan_fills);
  r.add("Range", plan_range);
  r.add("LinSpace", plan_lin_space);
  r.add("LogSpaceD", plan_log_space);
  r.add("Eye", plan_eye);
}

}  // namespace cann_sim::ops
