// Moving data on the cube core: global memory to L1 in fractals, filling L1, and results from L0C to global
// memory.
#include <algorithm>
#include <cstring>

#include "hivm/cost_model.h"
#include "hivm/micro/arguments.h"
#include "hivm/micro/cube_costs.h"
#include "hivm/micro/family.h"
#include "hivm/micro/move.h"
#include "hivm/micro/rows.h"

namespace hivm::micro {
namespace {

std::byte* address(const View& v, int64_t element) {
  return v.base + (v.offset + element) * bytes_of(v.element);
}

// nd2nz(source, target): rows x columns of global memory to fractals (columns / c0, rows / 16, 16, c0), with
// c0 elements in 32 bytes. Rows beyond the last stay as they are; the last column block is completed with
// zeros.
class ToFractals final : public MicroKernel {
 public:
  explicit ToFractals(const Variant& variant) : name_(variant.name), type_(variant.type) {}

  void run(Core& core, const std::vector<Argument>& given) const override {
    const Arguments arguments(name_, given, 2, 2);
    const View &source = arguments.view(0, type_, 2), &target = arguments.view(1, type_, 4);
    const int64_t rows = source.sizes[0], columns = source.sizes[1];
    if (rows == 0 || columns == 0) return;
    const int64_t width = bytes_of(source.element), c0 = cost::kBlockBytes / width;
    if (target.sizes[3] != c0 || target.strides[3] != 1 || target.sizes[2] != cost::kFractal)
      arguments.fail("the target " + shape_text(target) + " does not end with dense fractals of 16 x " +
                     std::to_string(c0));
    if (target.sizes[0] * c0 < columns || target.sizes[1] * cost::kFractal < rows)
      fail_shapes(name_, source, target);
    Work work;
    work.pipe = Pipe::Mte2;
    work.gm_read = &source;
    work.writes[0] = &target;
    if (source.strides[0] >= cost::kLongestPitch || source.strides[1] != 1)
      work.cycles = static_cast<double>(rows - 1) * (cost::kTransferCycles - cost::kBurstCycles);
    core.issue(work);

    for (int64_t block = 0; block * c0 < columns; block++) {
      const int64_t count = std::min(c0, columns - block * c0);
      for (int64_t row = 0; row < rows; row++) {
        const std::byte* from = address(source, row * source.strides[0] + block * c0 * source.strides[1]);
        std::byte* to = address(target, block * target.strides[0] + row / cost::kFractal * target.strides[1] +
                                            row % cost::kFractal * target.strides[2]);
        if (source.strides[1] == 1) {
          std::memcpy(to, from, static_cast<size_t>(count * width));
        } else {
          for (int64_t i = 0; i < count; i++)
            std::memcpy(to + i * width, from + i * source.strides[1] * width, static_cast<size_t>(width));
        }
        std::memset(to + count * width, 0, static_cast<size_t>((c0 - count) * width));
      }
    }
  }

 private:
  std::string name_;
  Type type_;
};

// set_l1_2d(value, target)
class FillL1 final : public MicroKernel {
 public:
  explicit FillL1(const Variant& variant)
      : name_(variant.name), type_(variant.type), move_(move_of(variant.type)) {}

  void run(Core& core, const std::vector<Argument>& given) const override {
    const Arguments arguments(name_, given, 2, 2);
    const View& target = arguments.view(1, type_, 1);
    uint64_t storage = 0;
    const View value = scalar_view(arguments, 0, type_, 1, &storage);
    Work work;
    work.pipe = Pipe::Mte2;
    work.cycles = cost::kTransferCycles +
                  static_cast<double>(target.count() * bytes_of(target.element)) / cost::kL1FillBytesPerCycle;
    work.writes[0] = &target;
    core.issue(work);
    Rows<2>(name_, {&target, &value}).each([&](const std::array<Lane, 2>& lanes, int64_t n) {
      move_(lanes[1], lanes[0], n);
    });
  }

 private:
  std::string name_;
  Type type_;
  MoveLoop move_;
};

// fixpipe_nz2nd(source, target, quantisation, relu, channel split, unit flag): the corner of L0C's fractals
// (columns / 16, rows / 16, 16, 16) that the target is large, row-major, without negative numbers if relu is
// 1, converted. Other kinds of relu take slopes from registers that no module sets.
class FromFractals final : public MicroKernel {
 public:
  explicit FromFractals(const Variant& variant)
      : name_(variant.name), from_(variant.type), to_(variant.second) {}

  void run(Core& core, const std::vector<Argument>& given) const override {
    const Arguments arguments(name_, given, 6, 6);
    const View &source = arguments.view(0, from_, 4), &target = arguments.view(1, to_, 2);
    const int64_t expected = from_ == to_ ? kNone : to_ == Type::Half ? kToHalf : kToBfloat16;
    const int64_t relu = arguments.integer(3);
    if (relu != 0 && relu != 1)
      arguments.fail("relu " + std::to_string(relu) + " is not supported; 0 is none, 1 is plain");
    if (arguments.integer(4) != 0) arguments.fail("channel split is not supported for a row-major target");
    if (arguments.integer(2) != expected)
      arguments.fail("quantisation " + std::to_string(arguments.integer(2)) + "; only " +
                     std::to_string(expected) + " is supported for these types");
    const int64_t rows = target.sizes[0], columns = target.sizes[1];
    if (rows == 0 || columns == 0) return;
    if (source.sizes[2] != cost::kFractal || source.sizes[3] != cost::kFractal || source.strides[3] != 1 ||
        source.sizes[0] * cost::kFractal < columns || source.sizes[1] * cost::kFractal < rows)
      fail_shapes(name_, source, target);
    core.check_global(target);
    Work work;
    work.pipe = Pipe::Fix;
    work.cycles = static_cast<double>(rows * ((columns + cost::kFractal - 1) / cost::kFractal) *
                                      cost::kFractal * bytes_of(source.element)) /
                  cost::kFixBytesPerCycle;
    work.reads[0] = &source;
    work.gm_write = &target;
    if (arguments.integer(5) != 0) work.unit_flag = Pipe::M;
    core.issue(work);

    for (int64_t n = 0; n < columns; n += cost::kFractal) {
      const int64_t count = std::min(cost::kFractal, columns - n);
      for (int64_t m = 0; m < rows; m++) {
        const std::byte* from =
            address(source, n / cost::kFractal * source.strides[0] + m / cost::kFractal * source.strides[1] +
                                m % cost::kFractal * source.strides[2]);
        convert(from, relu != 0, address(target, m * target.strides[0] + n * target.strides[1]), count,
                target.strides[1]);
      }
    }
  }

 private:
  // Kinds of quantisation, as the instruction numbers them.
  static constexpr int64_t kNone = 0, kToHalf = 1, kToBfloat16 = 16;

  template <class S, class T>
  static void convert_row(const std::byte* from, bool relu, std::byte* to, int64_t count, int64_t stride) {
    const auto* source = reinterpret_cast<const S*>(from);
    auto* target = reinterpret_cast<T*>(to);
    for (int64_t i = 0; i < count; i++) target[i * stride] = T(relu && source[i] < 0 ? S{} : source[i]);
  }

  void convert(const std::byte* from, bool relu, std::byte* to, int64_t count, int64_t stride) const {
    if (to_ == Type::Half) return convert_row<float, Half>(from, relu, to, count, stride);
    if (to_ == Type::Bfloat16) return convert_row<float, BFloat16>(from, relu, to, count, stride);
    if (to_ == Type::Float) return convert_row<float, float>(from, relu, to, count, stride);
    convert_row<int32_t, int32_t>(from, relu, to, count, stride);
  }

  std::string name_;
  Type from_, to_;
};

template <class Kernel>
KernelPointer make(const Variant& variant) {
  return std::make_shared<Kernel>(variant);
}

constexpr char kTypes[] = "half bfloat16_t float int8_t";

}  // namespace

const std::vector<Family>& cube_families() {
  static const std::vector<Family> families = {
      {"nd2nz_{type}", "", "", kTypes, Pipe::Mte2, make<ToFractals>},
      {"set_l1_2d_{type}", "", "", kTypes, Pipe::Mte2, make<FillL1>},
      {"fixpipe_nz2nd_{from}_to_{to}_4d_to_2d", "", "",
       "float:float float:half float:bfloat16_t int32_t:int32_t", Pipe::Fix, make<FromFractals>},
  };
  return families;
}

}  // namespace hivm::micro
