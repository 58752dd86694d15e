// Casts between element types.
//
// The cast mode says how a value that the target cannot hold exactly is rounded: 0 to nearest even, 1 half
// away from zero, 2 down, 3 up, 4 towards zero, 5 to the neighbour whose last bit is 1 (between floats); 6
// keeps the low bits of an integer. Apart from mode 6, what lies outside an integer target becomes its
// nearest end, and NaN becomes 0. Where every value is exact the mode does not matter.
#include <cmath>
#include <cstring>
#include <limits>

#include "hivm/cost_model.h"
#include "hivm/micro/arguments.h"
#include "hivm/micro/bits.h"
#include "hivm/micro/family.h"
#include "hivm/micro/issue.h"
#include "hivm/micro/rows.h"

namespace hivm::micro {
namespace {

using CastLoop = void (*)(const Lane& from, const Lane& to, int64_t n);

enum Mode : int64_t {
  kNearestEven = 0,
  kHalfAway = 1,
  kDown = 2,
  kUp = 3,
  kTowardsZero = 4,
  kOdd = 5,
  kLowBits = 6
};

// Applies convert(source element) to a row. An in-place target starts where its source starts and is not
// wider (see Source).
template <class From, class To, class Convert>
void cast_row(const Lane& from, const Lane& to, int64_t n, Convert convert) {
  const From* source = from.pointer<From>();
  To* target = to.pointer<To>();
  if (from.stride == 1 && to.stride == 1) {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; i++) target[i] = convert(source[i]);
  } else {
    for (int64_t i = 0; i < n; i++) target[i * to.stride] = convert(source[i * from.stride]);
  }
}

// x as a whole number, for |x| up to 2^31. Through int32 because that conversion exists as a vector
// instruction on every x86-64, unlike floor, ceil and trunc.
template <int kMode>
double whole_of(double x) {
  if constexpr (kMode == kNearestEven) return (x + 0x1.8p52) - 0x1.8p52;
  if constexpr (kMode == kHalfAway) return static_cast<int32_t>(x + std::copysign(0.5, x));
  const double truncated = static_cast<int32_t>(x);
  if constexpr (kMode == kDown) return truncated - (truncated > x);
  if constexpr (kMode == kUp) return truncated + (truncated < x);
  return truncated;
}

// float to a whole float; what is beyond 2^23 is whole already.
template <int kMode>
void round_loop(const Lane& from, const Lane& to, int64_t n) {
  cast_row<float, float>(from, to, n, [](float x) {
    const bool fraction = std::fabs(x) < 0x1p23f;
    const auto rounded = static_cast<float>(whole_of<kMode>(fraction ? x : 0.0f));
    return fraction ? std::copysign(rounded, x) : x;
  });
}

// float to an integer of at most 32 bits
template <class From, class To, int kMode>
void saturate_loop(const Lane& from, const Lane& to, int64_t n) {
  constexpr double kLow = std::numeric_limits<To>::min(), kHigh = std::numeric_limits<To>::max();
  cast_row<From, To>(from, to, n, [](From value) {
    double x = static_cast<float>(value);
    x = x == x ? x : 0.0;
    x = x > kLow ? x : kLow;
    x = x < kHigh ? x : kHigh;
    return static_cast<To>(static_cast<int32_t>(whole_of<kMode>(x)));
  });
}

double whole_of(double x, int mode) {
  switch (mode) {
    case kNearestEven:
      return std::nearbyint(x);
    case kHalfAway:
      return std::round(x);
    case kDown:
      return std::floor(x);
    case kUp:
      return std::ceil(x);
    default:
      return std::trunc(x);
  }
}

template <class From, int kMode>
void saturate_long_loop(const Lane& from, const Lane& to, int64_t n) {
  cast_row<From, int64_t>(from, to, n, [](From value) -> int64_t {
    const double x = whole_of(static_cast<float>(value), kMode);
    if (x != x) return 0;
    if (x >= 0x1p63) return std::numeric_limits<int64_t>::max();
    return x <= -0x1p63 ? std::numeric_limits<int64_t>::min() : static_cast<int64_t>(x);
  });
}

// float to the low bits of its whole part; too large for 64 bits or NaN: those of the smallest 64-bit number.
template <class From, class To>
void low_bits_loop(const Lane& from, const Lane& to, int64_t n) {
  cast_row<From, To>(from, to, n, [](From value) {
    const float x = static_cast<float>(value);
    const bool fits = x >= -0x1p63f && x < 0x1p63f;
    return static_cast<To>(fits ? static_cast<int64_t>(x) : std::numeric_limits<int64_t>::min());
  });
}

template <class From, class To>
void nearest_loop(const Lane& from, const Lane& to, int64_t n) {  // integer or float to float
  cast_row<From, To>(from, to, n, [](From value) { return To(static_cast<float>(value)); });
}

template <class To>
Word<To> word_of(To value) {
  Word<To> word;
  std::memcpy(&word, &value, sizeof word);
  return word;
}

// The float of the same sign whose magnitude is `by` places larger.
template <class To>
To moved(To value, int by) {
  const auto word = static_cast<Word<To>>(word_of(value) + by);
  std::memcpy(static_cast<void*>(&value), &word, sizeof word);
  return value;
}

// Integer or float to a float that cannot hold all its values, other than to nearest even.
template <class From, class To, int kMode>
To rounded(From value) {
  using Exact = std::conditional_t<sizeof(From) == 8, long double, double>;  // holds every From
  Exact exact;
  if constexpr (is_narrow_float<From>)
    exact = static_cast<float>(value);
  else
    exact = static_cast<Exact>(value);
  const auto magnitude = [](To x) { return static_cast<Exact>(std::fabs(static_cast<float>(x))); };
  const Exact size = std::fabs(exact);
  const To nearest(static_cast<float>(value));
  if (!(size < std::numeric_limits<Exact>::infinity()) || magnitude(nearest) == size) return nearest;
  const To inner = magnitude(nearest) > size ? moved(nearest, -1) : nearest, outer = moved(inner, 1);
  switch (kMode) {
    case kHalfAway: {
      // What comes after the largest number is infinity; it counts as one step more.
      const bool last = magnitude(outer) == std::numeric_limits<Exact>::infinity();
      const Exact low = magnitude(inner),
                  high = last ? 2 * low - magnitude(moved(inner, -1)) : magnitude(outer);
      return 2 * size >= low + high ? outer : inner;
    }
    case kDown:
      return exact < 0 ? outer : inner;
    case kUp:
      return exact > 0 ? outer : inner;
    case kOdd:
      return word_of(inner) & 1 ? inner : outer;
    default:
      return inner;
  }
}

template <class From, class To, int kMode>
void rounded_loop(const Lane& from, const Lane& to, int64_t n) {
  cast_row<From, To>(from, to, n, rounded<From, To, kMode>);
}

template <class From, class To>
void wrap_loop(const Lane& from, const Lane& to, int64_t n) {  // integer to integer, low bits or widened
  cast_row<From, To>(from, to, n, [](From value) { return static_cast<To>(value); });
}

template <class From, class To>
void clamp_loop(const Lane& from, const Lane& to, int64_t n) {  // signed integer to a narrower signed one
  constexpr From kLow = std::numeric_limits<To>::min(), kHigh = std::numeric_limits<To>::max();
  cast_row<From, To>(from, to, n, [](From value) {
    return static_cast<To>(value < kLow ? kLow : value > kHigh ? kHigh : value);
  });
}

template <class To>
void bits_loop(const Lane& from, const Lane& to, int64_t n) {
  To* target = to.pointer<To>();
  const To values[2] = {To(0), To(1)};
  for (int64_t i = 0; i < n; i++)
    target[i * to.stride] = values[read_bit(from.base, from.offset + i * from.stride)];
}

// ---- choosing a loop

template <class From, class To, int kMode>
constexpr CastLoop float_to_integer() {
  if constexpr (sizeof(To) == 8)
    return saturate_long_loop<From, kMode>;
  else
    return saturate_loop<From, To, kMode>;
}

template <class From, class To>
CastLoop float_to_integer(int64_t mode) {
  switch (mode) {
    case kNearestEven:
      return float_to_integer<From, To, kNearestEven>();
    case kHalfAway:
      return float_to_integer<From, To, kHalfAway>();
    case kDown:
      return float_to_integer<From, To, kDown>();
    case kUp:
      return float_to_integer<From, To, kUp>();
    case kTowardsZero:
      return float_to_integer<From, To, kTowardsZero>();
    case kLowBits:
      return low_bits_loop<From, To>;
    default:
      return nullptr;
  }
}

template <class From, class To>
CastLoop to_narrower_float(int64_t mode) {
  switch (mode) {
    case kNearestEven:
      return nearest_loop<From, To>;
    case kHalfAway:
      return rounded_loop<From, To, kHalfAway>;
    case kDown:
      return rounded_loop<From, To, kDown>;
    case kUp:
      return rounded_loop<From, To, kUp>;
    case kTowardsZero:
      return rounded_loop<From, To, kTowardsZero>;
    case kOdd:
      return rounded_loop<From, To, kOdd>;
    default:
      return nullptr;
  }
}

CastLoop float_to_whole(int64_t mode) {
  switch (mode) {
    case kNearestEven:
      return round_loop<kNearestEven>;
    case kHalfAway:
      return round_loop<kHalfAway>;
    case kDown:
      return round_loop<kDown>;
    case kUp:
      return round_loop<kUp>;
    case kTowardsZero:
      return round_loop<kTowardsZero>;
    default:
      return nullptr;
  }
}

// Bits of the significand of a float type, or of the magnitude of an integer type.
template <class T>
constexpr int digits_of() {
  if constexpr (std::is_same_v<T, Half>)
    return 11;
  else if constexpr (std::is_same_v<T, BFloat16>)
    return 8;
  else
    return std::numeric_limits<T>::digits;
}

template <class From, class To>
CastLoop loop_between(int64_t mode) {
  constexpr bool kFromFloat = std::is_same_v<From, float> || is_narrow_float<From>;
  constexpr bool kToFloat = std::is_same_v<To, float> || is_narrow_float<To>;
  if constexpr (std::is_same_v<From, float> && std::is_same_v<To, float>) {
    return float_to_whole(mode);
  } else if constexpr (kToFloat) {
    if constexpr (digits_of<From>() <= digits_of<To>())
      return nearest_loop<From, To>;
    else
      return to_narrower_float<From, To>(mode);
  } else if constexpr (kFromFloat) {
    return float_to_integer<From, To>(mode);
  } else if constexpr (digits_of<From>() <= digits_of<To>()) {
    return wrap_loop<From, To>;
  } else {
    if (mode == kLowBits) return wrap_loop<From, To>;
    if constexpr (std::is_signed_v<From> && std::is_signed_v<To>)
      return clamp_loop<From, To>;
    else
      return nullptr;
  }
}

CastLoop loop_for(Type from, Type to, int64_t mode) {
  return with_type(to, [&](auto to_type) -> CastLoop {
    using To = typename decltype(to_type)::type;
    return with_type(from, [&](auto from_type) -> CastLoop {
      using From = typename decltype(from_type)::type;
      if constexpr (std::is_same_v<To, Bit>)
        return nullptr;
      else if constexpr (std::is_same_v<From, Bit>)
        return bits_loop<To>;
      else
        return loop_between<From, To>(mode);
    });
  });
}

// vcast(source, target[, temporary], mode)
class Cast final : public MicroKernel {
 public:
  Cast(const Variant& variant, size_t arguments, bool low_bits)
      : name_(variant.name),
        rank_(variant.rank),
        from_(variant.type),
        to_(variant.second),
        arguments_(arguments),
        low_bits_(low_bits) {}

  void run(Core& core, const std::vector<Argument>& given) const override {
    const Arguments arguments(name_, given, arguments_, arguments_);
    const View &source = arguments.view(0, from_, rank_), &target = arguments.view(1, to_, rank_);
    const int64_t mode = arguments.integer(arguments_ - 1);
    const CastLoop loop = loop_for(from_, to_, low_bits_ ? int64_t{kLowBits} : mode);
    if (!loop) arguments.fail("cast mode " + std::to_string(mode) + " is not supported between these types");
    const int width = std::max(bits_of(source.element), bits_of(target.element));
    issue_elements(core, target, width, cost::kVectorSimpleCycles, {&source}, {&target});
    const Source before(source, target);
    Rows<2>(name_, {&target, &before.view()}).each([&](const std::array<Lane, 2>& lanes, int64_t n) {
      loop(lanes[1], lanes[0], n);
    });
  }

 private:
  std::string name_;
  int rank_;
  Type from_, to_;
  size_t arguments_;
  bool low_bits_;
};

template <size_t kArguments, bool kLowBitsOnly>
KernelPointer make_cast(const Variant& variant) {
  return std::make_shared<Cast>(variant, kArguments, kLowBitsOnly);
}

constexpr char kWithMode[] =
    "float:float float:half float:bfloat16_t float:int64_t float:int32_t float:int16_t half:float "
    "half:int32_t "
    "half:int16_t half:int8_t half:uint8_t bfloat16_t:float bfloat16_t:int32_t uint8_t:half int8_t:half "
    "int16_t:half "
    "int16_t:float int32_t:float int32_t:int64_t int32_t:int16_t int64_t:int32_t int64_t:float";
constexpr char kNarrowing[] = "int32_t:int8_t int16_t:int8_t int32_t:int16_t int64_t:int32_t";
constexpr char kFromBool[] =
    "bool:half bool:float bool:bfloat16_t bool:int16_t bool:int32_t bool:uint16_t bool:uint32_t";
constexpr char kFromByte[] =
    "uint8_t:half uint8_t:float uint8_t:bfloat16_t uint8_t:int16_t uint8_t:int32_t uint8_t:uint16_t "
    "uint8_t:uint32_t";

}  // namespace

const std::vector<Family>& cast_families() {
  static const std::vector<Family> families = {
      {"vcast_{from}_to_{to}_{rank}d_with_mode", "", "1 2", kWithMode, Pipe::V, make_cast<3, false>},
      {"vcast_{from}_to_{to}_{rank}d_with_{op}", "overflow overflow_no_size_align", "1 2", kNarrowing,
       Pipe::V, make_cast<4, true>},
      {"vcast_{from}_to_{to}_{rank}d_with_temp", "", "1 2", kFromBool, Pipe::V, make_cast<4, false>},
      {"vcast_{from}_to_{to}_{rank}d_with_temp", "", "1", kFromByte, Pipe::V, make_cast<4, false>},
  };
  return families;
}

}  // namespace hivm::micro
