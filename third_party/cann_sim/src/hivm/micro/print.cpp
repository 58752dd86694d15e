// Debug output of device_print. How the real library lays a line out is not known; here it is the prefix,
// then the values, in brackets by dimension unless it is a single one.
#include <algorithm>
#include <cstdio>
#include <cstring>

#include "hivm/micro/arguments.h"
#include "hivm/micro/bits.h"
#include "hivm/micro/family.h"
#include "hivm/micro/rows.h"

namespace hivm::micro {
namespace {

bool is_unsigned(Type type) { return type >= Type::Uint64 && type <= Type::Uint8; }

std::string number_text(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", value);
  return text;
}

// An integer of `bits` bits, sign-extended in `value`.
std::string number_text(int64_t value, int bits, bool without_sign, bool hexadecimal) {
  const uint64_t pattern = static_cast<uint64_t>(value) & (bits == 64 ? ~0ull : (1ull << bits) - 1);
  char text[32];
  if (hexadecimal) {
    std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(pattern));
    return text;
  }
  return without_sign ? std::to_string(pattern) : std::to_string(value);
}

// print(prefix, its length, view or scalar, hexadecimal)
class Print final : public MicroKernel {
 public:
  explicit Print(const Variant& variant) : name_(variant.name), rank_(variant.rank), type_(variant.type) {}

  void run(Core& core, const std::vector<Argument>& given) const override {
    const Arguments arguments(name_, given, 4, 4);
    const bool hexadecimal = arguments.integer(3) != 0;
    std::string text;
    if (rank_ == 0) {
      text = is_float(type_) ? number_text(arguments.real(2))
                             : number_text(arguments.integer(2), bits_of(element_of(type_)),
                                           is_unsigned(type_), hexadecimal);
    } else {
      const View& view = arguments.view(2, type_, rank_);
      if (view.space == Space::Gm) core.check_global(view);
      append(view, 0, view.offset, hexadecimal, text);
    }
    core.print(arguments.integer(0), text);
  }

  bool keeps_order(const std::vector<std::optional<int64_t>>&) const override { return true; }

 private:
  void append(const View& view, int dimension, int64_t offset, bool hexadecimal, std::string& text) const {
    if (dimension == view.rank) {
      text += element_text(view, offset, hexadecimal);
      return;
    }
    text += '[';
    for (int64_t i = 0; i < view.sizes[dimension]; i++) {
      if (i > 0) text += ", ";
      append(view, dimension + 1, offset + i * view.strides[dimension], hexadecimal, text);
    }
    text += ']';
  }

  std::string element_text(const View& view, int64_t offset, bool hexadecimal) const {
    return with_type(type_, [&](auto of) -> std::string {
      using T = typename decltype(of)::type;
      if constexpr (std::is_same_v<T, Bit>) {
        return read_bit(view.base, offset) ? "1" : "0";
      } else {
        T value;
        std::memcpy(&value, view.base + offset * static_cast<int64_t>(sizeof value), sizeof value);
        if constexpr (is_narrow_float<T> || std::is_same_v<T, float>) {
          return number_text(static_cast<double>(static_cast<float>(value)));
        } else {
          return number_text(static_cast<int64_t>(value), static_cast<int>(8 * sizeof value),
                             is_unsigned(type_), hexadecimal);
        }
      }
    });
  }

  std::string name_;
  int rank_;
  Type type_;
};

// Opens or closes the output of a block, which takes no part in what is printed.
struct Debug final : MicroKernel {
  explicit Debug(const Variant&) {}
  void run(Core&, const std::vector<Argument>&) const override {}
};

template <class Kernel>
KernelPointer make(const Variant& variant) {
  return std::make_shared<Kernel>(variant);
}

constexpr char kPrintable[] =
    "bool int8_t uint8_t int16_t uint16_t int32_t uint32_t int64_t uint64_t half bfloat16_t float";

}  // namespace

const std::vector<Family>& print_families() {
  static const std::vector<Family> families = {
      {"print_{rank}d_{type}_{op}", "ubuf gm", "1 2 3 4 5 6 7 8", kPrintable, Pipe::S, make<Print>},
      {"_mlir_ciface_print_scalar_{type}_{op}", "ubuf gm", "", kPrintable, Pipe::S, make<Print>},
      {"_mlir_ciface_{op}_debug", "init finish", "", "", Pipe::S, make<Debug>},
  };
  return families;
}

}  // namespace hivm::micro
