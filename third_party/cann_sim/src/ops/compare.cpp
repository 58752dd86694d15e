// Comparisons, logic and choices: operators whose result or condition is bool.
#include <cmath>
#include <cstring>

#include "ops/checks.h"
#include "ops/map.h"
#include "ops/registry.h"

namespace cann_sim::ops {
namespace {

void check_bool_output(const Call& call) {
  if (call.output(0).type != ACL_BOOL)
    throw InvalidCall(std::string("the output must be bool, not ") + type_name(call.output(0).type),
                      ACL_ERROR_UNSUPPORTED_DATA_TYPE);
}

// Comparisons are false for NaN, except NotEqual.
struct Equal {
  template <class C>
  static bool of(C a, C b) {
    return a == b;
  }
};
struct NotEqual {
  template <class C>
  static bool of(C a, C b) {
    return a != b;
  }
};
struct Greater {
  template <class C>
  static bool of(C a, C b) {
    return a > b;
  }
};
struct GreaterEqual {
  template <class C>
  static bool of(C a, C b) {
    return a >= b;
  }
};
struct Less {
  template <class C>
  static bool of(C a, C b) {
    return a < b;
  }
};
struct LessEqual {
  template <class C>
  static bool of(C a, C b) {
    return a <= b;
  }
};
struct And {
  template <class C>
  static bool of(C a, C b) {
    return a != 0 && b != 0;
  }
};
struct Or {
  template <class C>
  static bool of(C a, C b) {
    return a != 0 || b != 0;
  }
};

// f(a, b) -> bool over the broadcast inputs.
template <class F>
Plan compare_with(const std::shared_ptr<const Call>& call, F f) {
  const std::array<const Tensor*, 2> inputs{&call->input(0), &call->input(1)};
  check_broadcast(broadcast_shape({&inputs[0]->shape, &inputs[1]->shape}), call->output(0).shape);
  const Arithmetic arithmetic = common_arithmetic(inputs);
  Plan plan;
  plan.compute = [call, arithmetic, f] {
    with_arithmetic(arithmetic, [&](auto zero) {
      using C = decltype(zero);
      map_blocks<C, int64_t, 2>({&call->inputs[0], &call->inputs[1]}, call->outputs[0],
                                [&](const auto& v, int64_t* out, int64_t n) {
                                  for (int64_t i = 0; i < n; i++) out[i] = f(v[0][i], v[1][i]);
                                });
    });
  };
  return plan;
}

// The output may have any type: torch_npu lets some operators write 0 and 1 of the inputs' type.
template <class F>
Plan logical(const std::shared_ptr<const Call>& call) {
  return compare_with(call, [](auto a, auto b) { return F::of(a, b); });
}
template <class F>
Plan compare(const std::shared_ptr<const Call>& call) {
  check_bool_output(*call);
  return logical<F>(call);
}

// |a - b| <= atol + rtol * |b|, equal infinities are close, NaNs if equal_nan.
Plan plan_is_close(const std::shared_ptr<const Call>& call) {
  check_bool_output(*call);
  const double atol = call->attributes.number("atol", 1e-8), rtol = call->attributes.number("rtol", 1e-5);
  const bool equal_nan = call->attributes.flag("equal_nan", false);
  return compare_with(call, [atol, rtol, equal_nan](auto a, auto b) {
    if (a == b) return true;
    const double x = static_cast<double>(a), y = static_cast<double>(b);
    if (std::isnan(x) || std::isnan(y)) return equal_nan && std::isnan(x) && std::isnan(y);
    if (std::isinf(x) || std::isinf(y)) return false;
    return std::fabs(x - y) <= atol + rtol * std::fabs(y);
  });
}

// f(a) -> bool.
template <class F>
Plan test_with(const std::shared_ptr<const Call>& call, F f) {
  check_bool_output(*call);
  check_broadcast(call->input(0).shape, call->output(0).shape);
  Plan plan;
  plan.compute = [call, f] {
    with_arithmetic(arithmetic_of(call->inputs[0].type), [&](auto zero) {
      using C = decltype(zero);
      map_blocks<C, int64_t, 1>({&call->inputs[0]}, call->outputs[0],
                                [&](const auto& v, int64_t* out, int64_t n) {
                                  for (int64_t i = 0; i < n; i++) out[i] = f(v[0][i]);
                                });
    });
  };
  return plan;
}
Plan plan_not(const std::shared_ptr<const Call>& call) {
  return test_with(call, [](auto a) { return a == 0; });
}
// Integers are always finite and never NaN; they convert to double without becoming either.
Plan plan_is_finite(const std::shared_ptr<const Call>& call) {
  return test_with(call, [](auto a) { return std::isfinite(static_cast<double>(a)); });
}
Plan plan_is_nan(const std::shared_ptr<const Call>& call) {
  return test_with(call, [](auto a) { return std::isnan(static_cast<double>(a)); });
}
Plan plan_is_inf(const std::shared_ptr<const Call>& call) {
  return test_with(call, [](auto a) { return std::isinf(static_cast<double>(a)); });
}
// Set for -0, too.
Plan plan_sign_bit(const std::shared_ptr<const Call>& call) {
  return test_with(call, [](auto a) { return std::signbit(static_cast<double>(a)); });
}

// One bool for all elements. Shapes differ: not equal.
Plan plan_tensor_equal(const std::shared_ptr<const Call>& call) {
  check_bool_output(*call);
  if (call->input(0).type != call->input(1).type)
    throw InvalidCall("inputs of different types", ACL_ERROR_OP_INPUT_NOT_MATCH);
  Plan plan;
  plan.compute = [call] {
    const Tensor &a = call->inputs[0], &b = call->inputs[1];
    bool same = a.shape == b.shape;
    with_arithmetic(arithmetic_of(a.type), [&](auto zero) {
      using C = decltype(zero);
      C x[kBlock], y[kBlock];
      for (int64_t at = 0; same && at < a.count(); at += kBlock) {
        const int64_t n = std::min(kBlock, a.count() - at);
        load(a.type, a.data, at, n, x);
        load(b.type, b.data, at, n, y);
        for (int64_t i = 0; i < n; i++) same &= x[i] == y[i];
      }
    });
    call->outputs[0].data[0] = std::byte{same};
  };
  return plan;
}

// out = condition ? chosen[i] : other[i], moved without conversion. All broadcast to the output.
void choose(const Tensor& condition, const Tensor& yes, const Tensor& no, const Tensor& out) {
  const Nest<4> nest(out.shape,
                     {broadcast_strides(condition.shape, out.shape), broadcast_strides(yes.shape, out.shape),
                      broadcast_strides(no.shape, out.shape), contiguous_strides(out.shape)});
  auto move = [&](auto unit) {
    using T = decltype(unit);
    auto *a = reinterpret_cast<const T*>(yes.data), *b = reinterpret_cast<const T*>(no.data);
    auto* to = reinterpret_cast<T*>(out.data);
    auto* flag = reinterpret_cast<const uint8_t*>(condition.data);
    const int64_t sf = nest.inner_stride(0), sa = nest.inner_stride(1), sb = nest.inner_stride(2);
    nest.each([&](const auto& at, int64_t n) {
      for (int64_t i = 0; i < n; i++)
        to[at[3] + i] = flag[at[0] + i * sf] ? a[at[1] + i * sa] : b[at[2] + i * sb];
    });
  };
  switch (element_bytes(out.type)) {
    case 1:
      return move(uint8_t{});
    case 2:
      return move(uint16_t{});
    case 4:
      return move(uint32_t{});
    default:
      return move(uint64_t{});
  }
}

void check_bool(const Tensor& tensor) {
  if (tensor.type != ACL_BOOL)
    throw InvalidCall(std::string("the condition must be bool, not ") + type_name(tensor.type),
                      ACL_ERROR_UNSUPPORTED_DATA_TYPE);
}

// The elements as `type`; `room` holds them where that is another one.
Tensor converted(const Tensor& tensor, aclDataType type, std::vector<std::byte>& room) {
  Tensor result = tensor;
  if (tensor.type == type) return result;
  result.type = type;
  room.resize(result.bytes());
  result.data = room.data();
  with_arithmetic(arithmetic_of(tensor.type),
                  [&](auto zero) { write_all(result, read_all<decltype(zero)>(tensor)); });
  return result;
}

// With `convert` the operands may have other types than the output, and the condition may be uint8.
Plan plan_select(const std::shared_ptr<const Call>& call) {
  const bool convert = call->attributes.flag("convert", false);
  if (!convert || call->input(0).type != ACL_UINT8) check_bool(call->input(0));
  for (size_t k = 1; k < 3 && !convert; k++) check_same_type(call->input(k), call->output(0));
  for (size_t k = 0; k < 3; k++) check_broadcast(call->input(k).shape, call->output(0).shape);
  Plan plan;
  plan.compute = [call] {
    const Tensor& out = call->outputs[0];
    std::vector<std::byte> yes, no;
    choose(call->inputs[0], converted(call->inputs[1], out.type, yes),
           converted(call->inputs[2], out.type, no), out);
  };
  return plan;
}

// (x, mask, value): value where the mask is set.
Plan plan_masked_fill(const std::shared_ptr<const Call>& call) {
  check_bool(call->input(1));
  check_same_type(call->input(0), call->output(0));
  check_same_type(call->input(2), call->output(0));
  for (size_t k = 0; k < 3; k++) check_broadcast(call->input(k).shape, call->output(0).shape);
  Plan plan;
  plan.compute = [call] { choose(call->inputs[1], call->inputs[2], call->inputs[0], call->outputs[0]); };
  return plan;
}

}  // namespace

void add_compare(Registry& r) {
  r.add("Equal", compare<Equal>);
  r.add("NotEqual", compare<NotEqual>);
  r.add("Greater", compare<Greater>);
  r.add("GreaterEqual", compare<GreaterEqual>);
  r.add("Less", compare<Less>);
  r.add("LessEqual", compare<LessEqual>);
  r.add("LogicalAnd", logical<And>);
  r.add("LogicalOr", logical<Or>);
  r.add("LogicalNot", plan_not);
  r.add("IsFinite", plan_is_finite);
  r.add("IsNan", plan_is_nan);
  r.add("IsInf", plan_is_inf);
  r.add("Signbit", plan_sign_bit);
  r.add("IsClose", plan_is_close);
  r.add("TensorEqual", plan_tensor_equal);
  r.add("Select", plan_select);
  r.add("SelectV2", plan_select);
  r.add("MaskedFill", plan_masked_fill);
}

}  // namespace cann_sim::ops
