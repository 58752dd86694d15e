// Reductions along one axis, whose size in the target is 1.
//
// Sums of floats along the last axis are taken pairwise in float (blocks of 128 in eight partial sums, halves
// above that), for half too, which is rounded once at the end; along another axis rows are added one after
// the other, rounding at each step. max and min give NaN if there is one. Integers wrap around.
#include <algorithm>

#include "hivm/cost_model.h"
#include "hivm/micro/arguments.h"
#include "hivm/micro/family.h"
#include "hivm/micro/issue.h"
#include "hivm/micro/rows.h"
#include "hivm/micro/vector_costs.h"

namespace hivm::micro {
namespace {

constexpr int kParts = 8;  // partial results, so that neighbouring elements do not wait for each other

struct Sum {
  float operator()(float a, float b) const { return a + b; }
  template <class W>
  W operator()(W a, W b) const {
    return static_cast<W>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  }
};
struct Product {
  float operator()(float a, float b) const { return a * b; }
  template <class W>
  W operator()(W a, W b) const {
    return static_cast<W>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
  }
};
struct Largest {
  template <class W>
  W operator()(W a, W b) const {
    return a > b || a != a ? a : b;
  }
};
struct Smallest {
  template <class W>
  W operator()(W a, W b) const {
    return a < b || a != a ? a : b;
  }
};
struct BitXor {
  template <class W>
  W operator()(W a, W b) const {
    return static_cast<W>(a ^ b);
  }
};
struct BitOr {
  template <class W>
  W operator()(W a, W b) const {
    return static_cast<W>(a | b);
  }
};
struct BitAnd {
  template <class W>
  W operator()(W a, W b) const {
    return static_cast<W>(a & b);
  }
};

template <class T>
float pairwise_sum(const T* x, int64_t stride, int64_t n) {
  constexpr int64_t kBlock = 128;
  if (n < kParts) {
    float sum = 0;
    for (int64_t i = 0; i < n; i++) sum += static_cast<float>(x[i * stride]);
    return sum;
  }
  if (n > kBlock) {
    const int64_t half = n / 2 - n / 2 % kParts;
    return pairwise_sum(x, stride, half) + pairwise_sum(x + half * stride, stride, n - half);
  }
  float part[kParts];
  for (int k = 0; k < kParts; k++) part[k] = static_cast<float>(x[k * stride]);
  int64_t i = kParts;
  for (; i + kParts <= n; i += kParts) {
    for (int k = 0; k < kParts; k++) part[k] += static_cast<float>(x[(i + k) * stride]);
  }
  float sum = ((part[0] + part[1]) + (part[2] + part[3])) + ((part[4] + part[5]) + (part[6] + part[7]));
  for (; i < n; i++) sum += static_cast<float>(x[i * stride]);
  return sum;
}

// One row of n >= 1 elements to one.
template <class T, class Operation>
T reduce_row(const T* x, int64_t stride, int64_t n) {
  using W = Wide<T>;
  constexpr bool kFloat = std::is_same_v<W, float>;
  const Operation operation;
  if constexpr (kFloat && std::is_same_v<Operation, Sum>) {
    return T(pairwise_sum(x, stride, n));
  } else if constexpr (kFloat && std::is_same_v<Operation, Product>) {
    T product = x[0];
    for (int64_t i = 1; i < n; i++) product = T(W(product) * W(x[i * stride]));
    return product;
  } else {  // the order does not matter
    W result(x[0]);
    int64_t i = 1;
    if (stride == 1 && n >= 2 * kParts) {
      W part[kParts];
      for (int k = 0; k < kParts; k++) part[k] = W(x[k]);
      for (i = kParts; i + kParts <= n; i += kParts) {
        for (int k = 0; k < kParts; k++) part[k] = operation(part[k], W(x[i + k]));
      }
      result = part[0];
      for (int k = 1; k < kParts; k++) result = operation(result, part[k]);
    }
    for (; i < n; i++) result = operation(result, W(x[i * stride]));
    return T(result);
  }
}

// target = target (x) source, a row at a time
template <class T, class Operation>
void accumulate_row(const Lane& target, const Lane& source, int64_t n) {
  using W = Wide<T>;
  const Operation operation;
  T* to = target.pointer<T>();
  const T* x = source.pointer<T>();
  if (target.stride == 1 && source.stride == 1) {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; i++) to[i] = T(operation(W(to[i]), W(x[i])));
  } else {
    for (int64_t i = 0; i < n; i++)
      to[i * target.stride] = T(operation(W(to[i * target.stride]), W(x[i * source.stride])));
  }
}

template <class T>
void copy_row(const Lane& target, const Lane& source, int64_t n) {
  T* to = target.pointer<T>();
  const T* x = source.pointer<T>();
  for (int64_t i = 0; i < n; i++) to[i * target.stride] = x[i * source.stride];
}

using ReduceLoop = void (*)(const std::string& kernel, const View& source, const View& target, int axis);

View slice(View view, int axis, int64_t index) {
  view.offset += index * view.strides[axis];
  view.sizes[axis] = 1;
  return view;
}

template <class T, class Operation>
void reduce(const std::string& kernel, const View& source, const View& target, int axis) {
  const int64_t n = source.sizes[axis];
  const View first = slice(source, axis, 0);
  if (axis == source.rank - 1) {
    const int64_t stride = source.strides[axis];
    Rows<2>(kernel, {&target, &first}).each([&](const std::array<Lane, 2>& lanes, int64_t count) {
      T* to = lanes[0].pointer<T>();
      const T* x = lanes[1].pointer<T>();
      for (int64_t i = 0; i < count; i++) {
        to[i * lanes[0].stride] = reduce_row<T, Operation>(x + i * lanes[1].stride, stride, n);
      }
    });
    return;
  }
  Rows<2>(kernel, {&target, &first}).each([](const std::array<Lane, 2>& lanes, int64_t count) {
    copy_row<T>(lanes[0], lanes[1], count);
  });
  for (int64_t i = 1; i < n; i++) {
    const View next = slice(source, axis, i);
    Rows<2>(kernel, {&target, &next}).each([](const std::array<Lane, 2>& lanes, int64_t count) {
      accumulate_row<T, Operation>(lanes[0], lanes[1], count);
    });
  }
}

// "r", "ar", "ra0a1", ...: r is the axis that goes.
struct Axes {
  int rank, axis;
};
Axes axes_of(std::string_view shape) {
  if (shape == "r") return {1, 0};
  if (shape == "ar") return {2, 1};
  if (shape == "ra") return {2, 0};
  if (shape == "aar") return {3, 2};
  if (shape == "ara") return {3, 1};
  return {3, 0};  // ra0a1
}

// What both kinds of reduction check and issue. `index` may be nullptr.
void issue_reduction(Core& core, const Arguments& arguments, const View& source, const View& target,
                     const View* index, Axes axes) {
  for (int d = 0; d < axes.rank; d++) {
    const int64_t expected = d == axes.axis ? 1 : source.sizes[d];
    if (target.sizes[d] != expected || (index && index->sizes[d] != expected)) {
      arguments.fail("source of " + shape_text(source) + " reduced along axis " + std::to_string(axes.axis) +
                     " into " + shape_text(target));
    }
  }
  if (source.sizes[axes.axis] == 0)
    arguments.fail("source of " + shape_text(source) + " has nothing to reduce");
  if (!vector_addressable(source)) {
    if (index)
      issue_scalar(core, source.count(), {&source}, {&target, index});
    else
      issue_scalar(core, source.count(), {&source}, {&target});
    return;
  }
  const double readback = axes.axis == axes.rank - 1 ? target.count() * cost::kScalarReadbackCycles : 0;
  const double folds = index ? 2 * cost::kVectorReduceCycles : cost::kVectorReduceCycles;
  // A reduction of rows leaves one result per row in the vector unit; only a whole reduction and an index
  // come back.
  const double cycles =
      vector_cycles(source, bits_of(source.element), folds) + (axes.rank == 1 || index ? readback : 0);
  if (index)
    issue_vector(core, cycles, {&source}, {&target, index});
  else
    issue_vector(core, cycles, {&source}, {&target});
}

// reduce(source, target, temporary, initial value); the initial value is the neutral element
class Reduce final : public MicroKernel {
 public:
  Reduce(const Variant& variant, Axes axes, ReduceLoop loop)
      : name_(variant.name), axes_(axes), type_(variant.type), loop_(loop) {}

  void run(Core& core, const std::vector<Argument>& given) const override {
    const Arguments arguments(name_, given, 4, 4);
    const View &source = arguments.view(0, type_, axes_.rank), &target = arguments.view(1, type_, axes_.rank);
    if (target.count() == 0) return;
    issue_reduction(core, arguments, source, target, nullptr, axes_);
    const Source before(source, target);
    loop_(name_, before.view(), target, axes_.axis);
  }

 private:
  std::string name_;
  Axes axes_;
  Type type_;
  ReduceLoop loop_;
};

// ---- the position of the largest or smallest

// First (or last) winner of a row; a NaN wins over everything.
template <class T, bool kMax, bool kLast>
int64_t winner(const T* x, int64_t stride, int64_t n) {
  using W = Wide<T>;
  int64_t best = 0;
  W value(x[0]);
  for (int64_t i = 1; i < n; i++) {
    const W other(x[i * stride]);
    const bool better = kMax ? other > value : other < value;
    const bool nan = other != other, held = value != value;
    const bool equal = kLast && (other == value || (nan && held));
    if (better || (nan && !held) || equal) {
      best = i;
      value = other;
    }
  }
  return best;
}

using IndexLoop = void (*)(const std::string& kernel, const View& source, const View& value,
                           const View& index, int axis);

template <class T, bool kMax, bool kLast>
void reduce_index(const std::string& kernel, const View& source, const View& value, const View& index,
                  int axis) {
  const View first = slice(source, axis, 0);
  const int64_t stride = source.strides[axis], n = source.sizes[axis];
  Rows<3>(kernel, {&value, &index, &first}).each([&](const std::array<Lane, 3>& lanes, int64_t count) {
    for (int64_t i = 0; i < count; i++) {
      const T* x = lanes[2].pointer<T>() + i * lanes[2].stride;
      const int64_t best = winner<T, kMax, kLast>(x, stride, n);
      lanes[0].pointer<T>()[i * lanes[0].stride] = x[best * stride];
      lanes[1].pointer<int32_t>()[i * lanes[1].stride] = static_cast<int32_t>(best);
    }
  });
}

// reduce_with_index(source, target value, target index, temporary[, initial value])
class ReduceWithIndex final : public MicroKernel {
 public:
  ReduceWithIndex(const Variant& variant, Axes axes, IndexLoop loop)
      : name_(variant.name), axes_(axes), type_(variant.type), loop_(loop) {}

  void run(Core& core, const std::vector<Argument>& given) const override {
    const Arguments arguments(name_, given, 4, 5);
    const View &source = arguments.view(0, type_, axes_.rank), &value = arguments.view(1, type_, axes_.rank);
    const View& index = arguments.view(2, Type::Int32, axes_.rank);
    if (value.count() == 0) return;
    issue_reduction(core, arguments, source, value, &index, axes_);
    const Source kept(source, value), before(kept.view(), index);
    loop_(name_, before.view(), value, index, axes_.axis);
  }

 private:
  std::string name_;
  Axes axes_;
  Type type_;
  IndexLoop loop_;
};

// ---- choosing loops

template <class Operation>
ReduceLoop number_loop(Type type) {
  switch (type) {
    case Type::Float:
      return reduce<float, Operation>;
    case Type::Half:
      return reduce<Half, Operation>;
    case Type::Int32:
      return reduce<int32_t, Operation>;
    case Type::Int16:
      return reduce<int16_t, Operation>;
    default:
      return nullptr;
  }
}

template <class Operation>
ReduceLoop bit_loop(Type type) {
  switch (bits_of(element_of(type))) {
    case 64:
      return reduce<uint64_t, Operation>;
    case 32:
      return reduce<uint32_t, Operation>;
    case 16:
      return reduce<uint16_t, Operation>;
    default:
      return reduce<uint8_t, Operation>;
  }
}

KernelPointer make_reduce(const Variant& variant) {
  const std::string_view operation = variant.operation;
  ReduceLoop loop = nullptr;
  const auto ends = [&](std::string_view word) { return operation.substr(operation.rfind('_') + 1) == word; };
  if (ends("sum"))
    loop = number_loop<Sum>(variant.type);
  else if (ends("prod"))
    loop = number_loop<Product>(variant.type);
  else if (ends("max"))
    loop = number_loop<Largest>(variant.type);
  else if (ends("min"))
    loop = number_loop<Smallest>(variant.type);
  else if (ends("xori"))
    loop = bit_loop<BitXor>(variant.type);
  else if (ends("ori"))
    loop = bit_loop<BitOr>(variant.type);
  else if (ends("andi"))
    loop = bit_loop<BitAnd>(variant.type);
  if (!loop) return nullptr;
  return std::make_shared<Reduce>(variant, axes_of(variant.shape), loop);
}

template <class T>
IndexLoop index_loop(bool max, bool last) {
  if (max) return last ? reduce_index<T, true, true> : reduce_index<T, true, false>;
  return last ? reduce_index<T, false, true> : reduce_index<T, false, false>;
}

KernelPointer make_reduce_with_index(const Variant& variant) {
  const std::string_view operation = variant.operation;  // "max_with_index_left"
  const bool max = operation.substr(0, 3) == "max", last = operation.substr(operation.size() - 5) == "right";
  const IndexLoop loop =
      variant.type == Type::Float ? index_loop<float>(max, last) : index_loop<Half>(max, last);
  return std::make_shared<ReduceWithIndex>(variant, axes_of(variant.shape), loop);
}

constexpr char kNumbers[] = "int16_t int32_t half float", kEveryAxis[] = "r ar ra aar ara ra0a1";

}  // namespace

const std::vector<Family>& reduce_families() {
  static const std::vector<Family> families = {
      {"{op}_{rank}_{type}",
       "enablevc_reduce_sum enablevc_reduce_max enablevc_reduce_min enablevcg_reduce_sum "
       "enablevcg_reduce_max "
       "enablevcg_reduce_min",
       "r ar aar", "half float", Pipe::V, make_reduce},
      {"{op}_{rank}_{type}", "reduce_sum reduce_max reduce_min", "r ar aar", "int16_t int32_t", Pipe::V,
       make_reduce},
      {"{op}_{rank}_{type}", "reduce_sum reduce_max reduce_min", "ra ara ra0a1", kNumbers, Pipe::V,
       make_reduce},
      {"{op}_{rank}_{type}", "reduce_prod", kEveryAxis, kNumbers, Pipe::V, make_reduce},
      {"{op}_{rank}_{type}", "reduce_xori", kEveryAxis, "int8_t int16_t int32_t int64_t", Pipe::V,
       make_reduce},
      {"{op}_{rank}_{type}", "reduce_ori reduce_andi", kEveryAxis,
       "int8_t uint8_t int16_t uint16_t int32_t uint32_t int64_t uint64_t", Pipe::V, make_reduce},
      {"reduce_{op}_{rank}_{type}",
       "max_with_index_left max_with_index_right min_with_index_left min_with_index_right", "r ar ra",
       "half float", Pipe::V, make_reduce_with_index},
  };
  return families;
}

}  // namespace hivm::micro
