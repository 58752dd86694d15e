// Arithmetic, bitwise, shift and unary micro-kernels: every element by itself, sizes of 1 are spread.
//
// Half rounds after each operation.
#include "hivm/cost_model.h"
#include "hivm/micro/arguments.h"
#include "hivm/micro/bits.h"
#include "hivm/micro/family.h"
#include "hivm/micro/issue.h"
#include "hivm/micro/operations.h"
#include "hivm/micro/rows.h"

namespace hivm::micro {
namespace {

// ---- loops over one row

using BinaryLoop = void (*)(const Lane& a, const Lane& b, const Lane& target, int64_t n);
using UnaryLoop = void (*)(const Lane& a, const Lane& target, int64_t n);

// T: how elements lie in memory. ivdep: a target is either apart from its sources or starts where they start
// (see Source).
template <class T, class Operation>
void binary_loop(const Lane& a, const Lane& b, const Lane& target, int64_t n) {
  using W = Wide<T>;
  const Operation operation;
  const T *x = a.pointer<T>(), *y = b.pointer<T>();
  T* to = target.pointer<T>();
  if (target.stride == 1 && a.stride == 1 && b.stride == 1) {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; i++) to[i] = T(operation(W(x[i]), W(y[i])));
  } else if (target.stride == 1 && a.stride == 1 && b.stride == 0) {
    const W other(*y);
#pragma GCC ivdep
    for (int64_t i = 0; i < n; i++) to[i] = T(operation(W(x[i]), other));
  } else if (target.stride == 1 && a.stride == 0 && b.stride == 1) {
    const W other(*x);
#pragma GCC ivdep
    for (int64_t i = 0; i < n; i++) to[i] = T(operation(other, W(y[i])));
  } else {
    for (int64_t i = 0; i < n; i++) {
      to[i * target.stride] = T(operation(W(x[i * a.stride]), W(y[i * b.stride])));
    }
  }
}

template <class T, class Operation>
void unary_loop(const Lane& a, const Lane& target, int64_t n) {
  using W = Wide<T>;
  const Operation operation;
  const T* x = a.pointer<T>();
  T* to = target.pointer<T>();
  if (target.stride == 1 && a.stride == 1) {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; i++) to[i] = T(operation(W(x[i])));
  } else {
    for (int64_t i = 0; i < n; i++) to[i * target.stride] = T(operation(W(x[i * a.stride])));
  }
}

// 1 / sqrt(x) rounds twice in half, as two operations would.
template <class T>
void reciprocal_root_loop(const Lane& a, const Lane& target, int64_t n) {
  unary_loop<T, SquareRoot>(a, target, n);
  unary_loop<T, Reciprocal>(target, target, n);
}

template <class Operation>
void binary_bits(const Lane& a, const Lane& b, const Lane& target, int64_t n) {
  const Operation operation;
  for_bits(target, n,
           [&](int64_t i, int count) { return operation(read_bits(a, i, count), read_bits(b, i, count)); });
}

void not_bits(const Lane& a, const Lane& target, int64_t n) {
  for_bits(target, n, [&](int64_t i, int count) { return ~read_bits(a, i, count); });
}

// ---- kernels

// a (x) b -> target, where one of a, b may be a scalar argument: "vv", "vs", "sv".
class Binary final : public MicroKernel {
 public:
  Binary(const Variant& variant, BinaryLoop loop, double repeat, const char* kinds)
      : name_(variant.name),
        rank_(variant.rank),
        type_(variant.type),
        loop_(loop),
        repeat_(repeat),
        kinds_(kinds) {}

  void run(Core& core, const std::vector<Argument>& given) const override {
    const Arguments arguments(name_, given, 3, 4);
    const View& target = arguments.view(2, type_, rank_);
    uint64_t scalar = 0;
    View sides[2];
    for (int side = 0; side < 2; side++) {
      sides[side] = kinds_[side] == 's' ? scalar_view(arguments, side, type_, rank_, &scalar)
                                        : arguments.view(side, type_, rank_);
    }
    issue(core, sides, target);
    const Source a(sides[0], target), b(sides[1], target);
    Rows<3>(name_, {&target, &a.view(), &b.view()}).each([&](const std::array<Lane, 3>& lanes, int64_t n) {
      loop_(lanes[1], lanes[2], lanes[0], n);
    });
  }

 private:
  void issue(Core& core, const View (&sides)[2], const View& target) const {
    const int width = bits_of(target.element);
    const View *a = &sides[0], *b = &sides[1], *to = &target;
    if (kinds_[0] == 's')
      issue_elements(core, target, width, repeat_, {b}, {to});
    else if (kinds_[1] == 's')
      issue_elements(core, target, width, repeat_, {a}, {to});
    else
      issue_elements(core, target, width, repeat_, {a, b}, {to});
  }

  std::string name_;
  int rank_;
  Type type_;
  BinaryLoop loop_;
  double repeat_;
  const char* kinds_;
};

class Unary final : public MicroKernel {
 public:
  Unary(const Variant& variant, UnaryLoop loop, double repeat)
      : name_(variant.name), rank_(variant.rank), type_(variant.type), loop_(loop), repeat_(repeat) {}

  void run(Core& core, const std::vector<Argument>& given) const override {
    const Arguments arguments(name_, given, 2, 3);
    const View &source = arguments.view(0, type_, rank_), &target = arguments.view(1, type_, rank_);
    issue_elements(core, target, bits_of(target.element), repeat_, {&source}, {&target});
    const Source from(source, target);
    Rows<2>(name_, {&target, &from.view()}).each([&](const std::array<Lane, 2>& lanes, int64_t n) {
      loop_(lanes[1], lanes[0], n);
    });
  }

 private:
  std::string name_;
  int rank_;
  Type type_;
  UnaryLoop loop_;
  double repeat_;
};

// ---- choosing loops

template <class Operation>
BinaryLoop arithmetic(Type type) {
  switch (type) {
    case Type::Float:
      return binary_loop<float, Operation>;
    case Type::Half:
      return binary_loop<Half, Operation>;
    case Type::Int32:
      return binary_loop<int32_t, Operation>;
    case Type::Int16:
      return binary_loop<int16_t, Operation>;
    default:
      return nullptr;
  }
}

template <class Operation>
BinaryLoop real(Type type) {
  if (type == Type::Float) return binary_loop<float, Operation>;
  return type == Type::Half ? binary_loop<Half, Operation> : nullptr;
}

template <class Operation>
BinaryLoop integer(Type type) {
  switch (type) {
    case Type::Int32:
      return binary_loop<int32_t, Operation>;
    case Type::Int16:
      return binary_loop<int16_t, Operation>;
    case Type::Uint32:
      return binary_loop<uint32_t, Operation>;
    case Type::Uint16:
      return binary_loop<uint16_t, Operation>;
    default:
      return nullptr;
  }
}

// Also on floats: their bits.
template <class Operation>
BinaryLoop bitwise(Type type) {
  return with_type(type, [](auto of) -> BinaryLoop {
    using T = typename decltype(of)::type;
    if constexpr (std::is_same_v<T, Bit>)
      return binary_bits<Operation>;
    else
      return binary_loop<Word<T>, Operation>;
  });
}

BinaryLoop binary_named(std::string_view operation, Type type) {
  const auto is = [&](std::string_view name) {
    return operation == name || operation == std::string(name) + 's';
  };
  if (is("vadd")) return arithmetic<Add>(type);
  if (is("vsub")) return arithmetic<Subtract>(type);
  if (is("vmul")) return arithmetic<Multiply>(type);
  if (is("vmax")) return arithmetic<Maximum>(type);
  if (is("vmin")) return arithmetic<Minimum>(type);
  if (is("vdiv")) return real<Divide>(type);
  if (is("vand")) return bitwise<And>(type);
  if (is("vor")) return bitwise<Or>(type);
  if (is("vxor")) return bitwise<Xor>(type);
  if (is("vshl")) return integer<ShiftLeft>(type);
  if (is("vshr")) return integer<ShiftRight>(type);
  return nullptr;
}

template <class Operation>
UnaryLoop real_function(Type type) {
  if (type == Type::Float) return unary_loop<float, Operation>;
  return type == Type::Half ? unary_loop<Half, Operation> : nullptr;
}

UnaryLoop unary_named(std::string_view operation, Type type) {
  if (operation == "vexp") return real_function<Exponential>(type);
  if (operation == "vln") return real_function<Logarithm>(type);
  if (operation == "vsqrt") return real_function<SquareRoot>(type);
  if (operation == "vabs") return real_function<Absolute>(type);
  if (operation == "vrec") return real_function<Reciprocal>(type);
  if (operation == "vrsqrt")
    return type == Type::Float ? reciprocal_root_loop<float> : reciprocal_root_loop<Half>;
  if (operation == "vrelu")
    return type == Type::Int32 ? unary_loop<int32_t, Relu> : real_function<Relu>(type);
  if (operation == "vnot") {
    return with_type(type, [](auto of) -> UnaryLoop {
      using T = typename decltype(of)::type;
      if constexpr (std::is_same_v<T, Bit>)
        return not_bits;
      else
        return unary_loop<Word<T>, Not>;
    });
  }
  return nullptr;
}

double repeat_of(std::string_view operation) {
  if (operation == "vexp" || operation == "vln") return cost::kVectorExpCycles;
  if (operation == "vdiv" || operation == "vsqrt" || operation == "vrec") return cost::kVectorDivideCycles;
  if (operation == "vrsqrt") return 2 * cost::kVectorDivideCycles;
  return cost::kVectorSimpleCycles;
}

template <char A, char B>
KernelPointer make_binary(const Variant& variant) {
  static constexpr char kinds[] = {A, B, 0};
  const BinaryLoop loop = binary_named(variant.operation, variant.type);
  if (!loop) return nullptr;
  return std::make_shared<Binary>(variant, loop, repeat_of(variant.operation), kinds);
}

KernelPointer make_unary(const Variant& variant) {
  const UnaryLoop loop = unary_named(variant.operation, variant.type);
  if (!loop) return nullptr;
  return std::make_shared<Unary>(variant, loop, repeat_of(variant.operation));
}

constexpr char kNumbers[] = "int16_t int32_t half float", kReals[] = "half float",
               kShiftable[] = "int16_t uint16_t int32_t uint32_t";
constexpr char kBitwise[] =
    "bool int8_t uint8_t int16_t uint16_t int32_t uint32_t int64_t uint64_t half bfloat16_t float";
constexpr char kIntegers[] = "bool int8_t uint8_t int16_t uint16_t int32_t uint32_t int64_t uint64_t";

}  // namespace

const std::vector<Family>& elementwise_families() {
  static const std::vector<Family> families = {
      {"{op}_{rank}d_{type}", "vadd vsub vmul vmax vmin", "1 2 3", kNumbers, Pipe::V, make_binary<'v', 'v'>},
      {"{op}_{rank}d_{type}", "vdiv", "1 2 3", kReals, Pipe::V, make_binary<'v', 'v'>},
      {"{op}_{rank}d_{type}", "vand vor", "1 2 3", kBitwise, Pipe::V, make_binary<'v', 'v'>},
      {"{op}_{rank}d_{type}", "vxor", "1 2 3", kIntegers, Pipe::V, make_binary<'v', 'v'>},
      {"{op}_vs_{rank}d_{type}", "vadds vsub vmuls vmaxs vmins", "1 2 3", kNumbers, Pipe::V,
       make_binary<'v', 's'>},
      {"{op}_vs_{rank}d_{type}", "vdiv", "1 2 3", kReals, Pipe::V, make_binary<'v', 's'>},
      {"{op}_sv_{rank}d_{type}", "vsub", "1 2 3", kNumbers, Pipe::V, make_binary<'s', 'v'>},
      {"{op}_sv_{rank}d_{type}", "vdiv", "1 2 3", kReals, Pipe::V, make_binary<'s', 'v'>},
      {"{op}_vs_{rank}d_{type}", "vshls vshrs", "1 2 3", kShiftable, Pipe::V, make_binary<'v', 's'>},
      {"{op}_{rank}d_{type}", "vexp vln vsqrt vabs vrec vrsqrt", "1 2 3", kReals, Pipe::V, make_unary},
      {"{op}_{rank}d_{type}", "vrelu", "1 2 3", "half float int32_t", Pipe::V, make_unary},
      {"{op}_{rank}d_{type}", "vnot", "1 2 3", kBitwise, Pipe::V, make_unary},
  };
  return families;
}

}  // namespace hivm::micro
