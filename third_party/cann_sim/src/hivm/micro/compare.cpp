// Comparisons, which write packed bits, and selection by them.
#include <functional>

#include "hivm/cost_model.h"
#include "hivm/micro/arguments.h"
#include "hivm/micro/bits.h"
#include "hivm/micro/family.h"
#include "hivm/micro/issue.h"
#include "hivm/micro/rows.h"

namespace hivm::micro {
namespace {

using CompareLoop = void (*)(const Lane& a, const Lane& b, const Lane& target, int64_t n);

// 32 bytes that are 0 or 1, as the bits of a word.
uint32_t pack(const uint8_t (&flags)[kWordBits]) {
  uint32_t word = 0;
  for (int i = 0; i < kWordBits; i += 8) {
    uint64_t eight;
    std::memcpy(&eight, flags + i, 8);
    // The multiplication gathers bit 0 of byte k in bit 56 + k.
    word |= static_cast<uint32_t>((eight * 0x0102040810204080u) >> 56) << i;
  }
  return word;
}

template <class T, class Operation>
void compare_loop(const Lane& a, const Lane& b, const Lane& target, int64_t n) {
  using W = Wide<T>;
  const Operation operation;
  for_bits(target, n, [&](int64_t first, int count) {
    const T *x = a.pointer<T>() + first * a.stride, *y = b.pointer<T>() + first * b.stride;
    uint8_t flags[kWordBits] = {};
    if (count == kWordBits && a.stride == 1 && b.stride == 1) {
      for (int i = 0; i < kWordBits; i++) flags[i] = operation(W(x[i]), W(y[i]));
    } else if (count == kWordBits && a.stride == 1 && b.stride == 0) {
      const W other(*y);
      for (int i = 0; i < kWordBits; i++) flags[i] = operation(W(x[i]), other);
    } else {
      for (int i = 0; i < count; i++) flags[i] = operation(W(x[i * a.stride]), W(y[i * b.stride]));
    }
    return pack(flags);
  });
}

template <class T>
CompareLoop compare_named(std::string_view operation) {
  using W = Wide<T>;
  if (operation == "eq") return compare_loop<T, std::equal_to<W>>;
  if (operation == "ne") return compare_loop<T, std::not_equal_to<W>>;
  if (operation == "lt") return compare_loop<T, std::less<W>>;
  if (operation == "le") return compare_loop<T, std::less_equal<W>>;
  if (operation == "gt") return compare_loop<T, std::greater<W>>;
  return compare_loop<T, std::greater_equal<W>>;
}

CompareLoop compare_of(std::string_view operation, Type type) {
  switch (type) {
    case Type::Float:
      return compare_named<float>(operation);
    case Type::Half:
      return compare_named<Half>(operation);
    case Type::Int32:
      return compare_named<int32_t>(operation);
    default:
      return nullptr;
  }
}

// vcmp(a, b, target), vcmps(a, scalar, target)
class Compare final : public MicroKernel {
 public:
  Compare(const Variant& variant, CompareLoop loop, bool scalar)
      : name_(variant.name), rank_(variant.rank), type_(variant.type), loop_(loop), scalar_(scalar) {}

  void run(Core& core, const std::vector<Argument>& given) const override {
    const Arguments arguments(name_, given, 3, 3);
    const View &a = arguments.view(0, type_, rank_), &target = arguments.view(2, Type::Bool, rank_);
    uint64_t storage = 0;
    const View b =
        scalar_ ? scalar_view(arguments, 1, type_, rank_, &storage) : arguments.view(1, type_, rank_);
    if (scalar_)
      issue_elements(core, a, bits_of(a.element), cost::kVectorSimpleCycles, {&a}, {&target});
    else
      issue_elements(core, a, bits_of(a.element), cost::kVectorSimpleCycles, {&a, &b}, {&target});
    const Source x(a, target), y(b, target);
    Rows<3>(name_, {&target, &x.view(), &y.view()}).each([&](const std::array<Lane, 3>& lanes, int64_t n) {
      loop_(lanes[1], lanes[2], lanes[0], n);
    });
  }

 private:
  std::string name_;
  int rank_;
  Type type_;
  CompareLoop loop_;
  bool scalar_;
};

// ---- selection

using SelectLoop = void (*)(const Lane& condition, const Lane& a, const Lane& b, const Lane& target,
                            int64_t n);

struct BitMasks {
  uint32_t of[kWordBits];
  constexpr BitMasks() : of() {
    for (int i = 0; i < kWordBits; i++) of[i] = uint32_t{1} << i;
  }
};
constexpr BitMasks kBit;

template <class W>
void select_bits_loop(const Lane& condition, const Lane& a, const Lane& b, const Lane& target, int64_t n) {
  for (int64_t first = 0; first < n; first += kWordBits) {
    const int count = static_cast<int>(std::min<int64_t>(kWordBits, n - first));
    const uint32_t word = read_bits(condition, first, count);
    const W *x = a.pointer<W>() + first * a.stride, *y = b.pointer<W>() + first * b.stride;
    W* to = target.pointer<W>() + first * target.stride;
    if (a.stride == 1 && b.stride == 1 && target.stride == 1) {
#pragma GCC ivdep
      for (int i = 0; i < count; i++) to[i] = word & kBit.of[i] ? x[i] : y[i];
    } else {
      for (int i = 0; i < count; i++)
        to[i * target.stride] = word & kBit.of[i] ? x[i * a.stride] : y[i * b.stride];
    }
  }
}

template <class W>
void select_bytes_loop(const Lane& condition, const Lane& a, const Lane& b, const Lane& target, int64_t n) {
  const uint8_t* c = condition.pointer<uint8_t>();
  const W *x = a.pointer<W>(), *y = b.pointer<W>();
  W* to = target.pointer<W>();
  for (int64_t i = 0; i < n; i++) {
    to[i * target.stride] = c[i * condition.stride] ? x[i * a.stride] : y[i * b.stride];
  }
}

// vsel(condition, a, b, target, address buffer); a and b are views or scalars: "vv", "vs", "sv", "ss"
class Select final : public MicroKernel {
 public:
  Select(const Variant& variant, std::string_view kinds, Type condition, Type type, SelectLoop loop)
      : name_(variant.name),
        kinds_(kinds),
        rank_(variant.rank),
        condition_(condition),
        type_(type),
        loop_(loop) {}

  void run(Core& core, const std::vector<Argument>& given) const override {
    const Arguments arguments(name_, given, 4, 5);
    const View &condition = arguments.view(0, condition_, rank_), &target = arguments.view(3, type_, rank_);
    uint64_t storage[2] = {};
    View sides[2];
    const View* reads[3] = {&condition};
    int count = 1;
    for (int side = 0; side < 2; side++) {
      const bool scalar = kinds_[side] == 's';
      sides[side] = scalar ? scalar_view(arguments, side + 1, type_, rank_, &storage[side])
                           : arguments.view(side + 1, type_, rank_);
      if (!scalar) reads[count++] = &sides[side];
    }
    const int width = bits_of(target.element);
    if (count == 1)
      issue_elements(core, target, width, cost::kVectorSimpleCycles, {reads[0]}, {&target});
    else if (count == 2)
      issue_elements(core, target, width, cost::kVectorSimpleCycles, {reads[0], reads[1]}, {&target});
    else
      issue_elements(core, target, width, cost::kVectorSimpleCycles, {reads[0], reads[1], reads[2]},
                     {&target});
    const Source c(condition, target), x(sides[0], target), y(sides[1], target);
    Rows<4>(name_, {&target, &c.view(), &x.view(), &y.view()})
        .each([&](const std::array<Lane, 4>& lanes, int64_t n) {
          loop_(lanes[1], lanes[2], lanes[3], lanes[0], n);
        });
  }

 private:
  std::string name_, kinds_;
  int rank_;
  Type condition_, type_;
  SelectLoop loop_;
};

SelectLoop select_of(Type condition, Type type) {
  const bool bits = condition == Type::Bool;
  switch (bits_of(element_of(type))) {
    case 64:
      return bits ? select_bits_loop<uint64_t> : select_bytes_loop<uint64_t>;
    case 32:
      return bits ? select_bits_loop<uint32_t> : select_bytes_loop<uint32_t>;
    case 16:
      return bits ? select_bits_loop<uint16_t> : select_bytes_loop<uint16_t>;
    default:
      return nullptr;
  }
}

template <bool kScalar>
KernelPointer make_compare(const Variant& variant) {
  const CompareLoop loop = compare_of(variant.operation, variant.type);
  if (!loop) return nullptr;
  return std::make_shared<Compare>(variant, loop, kScalar);
}

KernelPointer make_select_views(const Variant& variant) {
  const SelectLoop loop = select_of(variant.type, variant.second);
  if (!loop) return nullptr;
  return std::make_shared<Select>(variant, "vv", variant.type, variant.second, loop);
}

KernelPointer make_select_scalars(const Variant& variant) {
  const SelectLoop loop = select_of(Type::Bool, variant.type);
  if (!loop) return nullptr;
  return std::make_shared<Select>(variant, variant.operation, Type::Bool, variant.type, loop);
}

constexpr char kSelectable[] = "half float int16_t int32_t uint16_t uint32_t bfloat16_t int64_t";
constexpr char kConditionAndSelectable[] =
    "bool:half bool:float bool:int16_t bool:int32_t bool:uint16_t bool:uint32_t bool:bfloat16_t bool:int64_t "
    "int8_t:half "
    "int8_t:float int8_t:int16_t int8_t:int32_t int8_t:uint16_t int8_t:uint32_t int8_t:bfloat16_t "
    "int8_t:int64_t";

}  // namespace

const std::vector<Family>& compare_families() {
  static const std::vector<Family> families = {
      {"vcmp_{op}_{rank}d_{type}", "eq ne", "1", "half float int32_t", Pipe::V, make_compare<false>},
      {"vcmp_{op}_{rank}d_{type}", "lt le gt ge", "1", "half float", Pipe::V, make_compare<false>},
      {"vcmps_{op}_{rank}d_{type}", "eq ne", "1", "half float int32_t", Pipe::V, make_compare<true>},
      {"vcmps_{op}_{rank}d_{type}", "lt le gt ge", "1", "half float", Pipe::V, make_compare<true>},
      {"vsel_vv_{rank}d_{from}_{to}", "", "1", kConditionAndSelectable, Pipe::V, make_select_views},
      {"vsel_{op}_{rank}d_{type}", "vs sv ss", "1", kSelectable, Pipe::V, make_select_scalars},
  };
  return families;
}

}  // namespace hivm::micro
