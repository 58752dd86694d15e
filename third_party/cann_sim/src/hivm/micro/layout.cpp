// Filling, spreading and rearranging: no element changes its value.
#include "hivm/cost_model.h"
#include "hivm/micro/arguments.h"
#include "hivm/micro/bits.h"
#include "hivm/micro/family.h"
#include "hivm/micro/issue.h"
#include "hivm/micro/move.h"
#include "hivm/micro/rows.h"

namespace hivm::micro {
namespace {

// What all kernels of this file know.
class Layout : public MicroKernel {
 protected:
  explicit Layout(const Variant& variant)
      : name_(variant.name), rank_(variant.rank), type_(variant.type), move_(move_of(variant.type)) {}

  // target = source; sizes of 1 in the source are spread. `source` may overlap nothing of the target.
  void assign(const View& source, const View& target) const {
    Rows<2>(name_, {&target, &source}).each([&](const std::array<Lane, 2>& lanes, int64_t n) {
      move_(lanes[1], lanes[0], n);
    });
  }

  std::string name_;
  int rank_;
  Type type_;
  MoveLoop move_;
};

// broadcast_scalar(value, target)
class Fill final : public Layout {
 public:
  explicit Fill(const Variant& variant) : Layout(variant) {}

  void run(Core& core, const std::vector<Argument>& given) const override {
    const Arguments arguments(name_, given, 2, 2);
    const View& target = arguments.view(1, type_, rank_);
    issue_elements(core, target, bits_of(target.element), cost::kVectorSimpleCycles, {}, {&target});
    if (type_ == Type::Bool) {
      const uint32_t word = arguments.integer(0) & 1 ? ~uint32_t{0} : 0;
      Rows<1>(name_, {&target}).each([&](const std::array<Lane, 1>& lanes, int64_t n) {
        for_bits(lanes[0], n, [&](int64_t, int) { return word; });
      });
      return;
    }
    uint64_t storage = 0;
    assign(scalar_view(arguments, 0, type_, rank_, &storage), target);
  }
};

// broadcast_*_axis(source, target[, temporary]): the source has size 1 along the axes that are spread
class Spread final : public Layout {
 public:
  explicit Spread(const Variant& variant) : Layout(variant) {}

  void run(Core& core, const std::vector<Argument>& given) const override {
    const Arguments arguments(name_, given, 2, 3);
    const View &source = arguments.view(0, type_, rank_), &target = arguments.view(1, type_, rank_);
    issue_elements(core, target, bits_of(target.element), cost::kVectorSimpleCycles, {&source}, {&target});
    const Source before(source, target);
    assign(before.view(), target);
  }
};

// arange(target, offset, stride of each dimension)
class Arange final : public Layout {
 public:
  explicit Arange(const Variant& variant) : Layout(variant) {}

  void run(Core& core, const std::vector<Argument>& given) const override {
    const auto count = static_cast<size_t>(2 + rank_);
    const Arguments arguments(name_, given, count, count);
    const View& target = arguments.view(0, type_, rank_);
    issue_elements(core, target, bits_of(target.element), cost::kVectorSimpleCycles, {}, {&target});
    with_type(type_, [&](auto of) {
      using T = typename decltype(of)::type;
      if constexpr (!std::is_same_v<T, Bit>)
        fill<T>(arguments, target, 0, target.offset, arguments.integer(1));
    });
  }

 private:
  template <class T>
  void fill(const Arguments& arguments, const View& target, int d, int64_t offset, int64_t value) const {
    const int64_t step = arguments.integer(static_cast<size_t>(2 + d));
    for (int64_t i = 0; i < target.sizes[d]; i++, offset += target.strides[d], value += step) {
      if (d + 1 < rank_) {
        fill<T>(arguments, target, d + 1, offset, value);
      } else if constexpr (is_narrow_float<T>) {
        reinterpret_cast<T*>(target.base)[offset] = T(static_cast<float>(value));
      } else {
        reinterpret_cast<T*>(target.base)[offset] = static_cast<T>(value);
      }
    }
  }
};

// transpose(source, target[, temporary]): dimension d of the target is dimension order[d] of the source,
// which may be larger
class Transpose final : public Layout {
 public:
  Transpose(const Variant& variant, std::array<int, 3> order, bool last_axis)
      : Layout(variant), order_(order), last_axis_(last_axis) {}

  void run(Core& core, const std::vector<Argument>& given) const override {
    const Arguments arguments(name_, given, 2, 3);
    const View &source = arguments.view(0, type_, rank_), &target = arguments.view(1, type_, rank_);
    View turned = source;
    for (int d = 0; d < rank_; d++) {
      if (source.sizes[order_[d]] < target.sizes[d]) fail_shapes(name_, source, target);
      turned.sizes[d] = target.sizes[d];
      turned.strides[d] = source.strides[order_[d]];
    }
    const double rate = last_axis_ ? cost::kVectorTransposeCycles : cost::kVectorSimpleCycles;
    issue_elements(core, target, bits_of(target.element), rate, {&source}, {&target});
    const Source before(turned, target);
    assign(before.view(), target);
  }

 private:
  std::array<int, 3> order_;
  bool last_axis_;
};

// One channel of interleaved ones, and copies whose source stride selects: target[i] = source[step * i +
// first]
class Deinterleave final : public Layout {
 public:
  Deinterleave(const Variant& variant, int64_t first, int64_t step)
      : Layout(variant), first_(first), step_(step) {}

  void run(Core& core, const std::vector<Argument>& given) const override {
    const Arguments arguments(name_, given, 2, 2);
    const View &source = arguments.view(0, type_, rank_), &target = arguments.view(1, type_, rank_);
    const int last = rank_ - 1;
    View channel = source;
    channel.offset += first_ * source.strides[last];
    channel.strides[last] *= step_;
    channel.sizes[last] = target.sizes[last];
    if (target.sizes[last] > 0 && first_ + (target.sizes[last] - 1) * step_ >= source.sizes[last]) {
      fail_shapes(name_, source, target);
    }
    // The selection by stride is what these instructions are for, so only the start of the source has to be
    // aligned.
    View aligned = source;
    aligned.strides[last] = 1;
    if (vector_addressable(aligned) && vector_addressable(target)) {
      issue_vector(core, vector_cycles(target, bits_of(target.element), 2 * cost::kVectorSimpleCycles),
                   {&source}, {&target});
    } else {
      issue_scalar(core, target.count(), {&source}, {&target});
    }
    const Source before(channel, target);
    assign(before.view(), target);
  }

 private:
  int64_t first_, step_;
};

// interleave(a, b, target, temporary): a0 b0 a1 b1 ..., as far as the target goes
class Interleave final : public Layout {
 public:
  explicit Interleave(const Variant& variant) : Layout(variant) {}

  void run(Core& core, const std::vector<Argument>& given) const override {
    const Arguments arguments(name_, given, 3, 4);
    const View &a = arguments.view(0, type_, 1), &b = arguments.view(1, type_, 1),
               &target = arguments.view(2, type_, 1);
    if (a.sizes[0] != b.sizes[0]) fail_shapes(name_, a, b);
    if (target.sizes[0] > 2 * a.sizes[0]) fail_shapes(name_, a, target);
    issue_elements(core, target, bits_of(target.element), 2 * cost::kVectorSimpleCycles, {&a, &b}, {&target});
    const Source even(a, target), odd(b, target);
    for (int side = 0; side < 2; side++) {
      View source = side ? odd.view() : even.view(), half = target;
      half.offset += side * target.strides[0];
      half.strides[0] *= 2;
      half.sizes[0] = source.sizes[0] = (target.sizes[0] + 1 - side) / 2;
      assign(source, half);
    }
  }
};

// flip(source, target), by the scalar unit
class Flip final : public Layout {
 public:
  explicit Flip(const Variant& variant) : Layout(variant) {}

  void run(Core& core, const std::vector<Argument>& given) const override {
    const Arguments arguments(name_, given, 2, 3);
    const View &source = arguments.view(0, type_, 1), &target = arguments.view(1, type_, 1);
    if (source.sizes[0] != target.sizes[0]) fail_shapes(name_, source, target);
    issue_scalar(core, target.count(), {&source}, {&target});
    View reversed = source;
    reversed.offset += (source.sizes[0] - 1) * source.strides[0];
    reversed.strides[0] = -source.strides[0];
    const Source before(reversed, target);
    assign(before.view(), target);
  }
};

// gather(source, indices, target, temporary): target[i] = source[indices[i]]
class Gather final : public Layout {
 public:
  explicit Gather(const Variant& variant) : Layout(variant) {}

  void run(Core& core, const std::vector<Argument>& given) const override {
    const Arguments arguments(name_, given, 3, 4);
    const View &source = arguments.view(0, type_, 1), &target = arguments.view(2, type_, 1);
    const View& indices = arguments.view(1, Type::Int32, 1);
    if (indices.sizes[0] != target.sizes[0]) fail_shapes(name_, indices, target);
    issue_elements(core, target, bits_of(target.element), cost::kVectorGatherCycles, {&source, &indices},
                   {&target});
    const Source before(source, target), which(indices, target);
    const int64_t n = source.sizes[0];
    const Lane from{before.view().base, before.view().offset, before.view().strides[0]};
    Rows<2>(name_, {&target, &which.view()}).each([&](const std::array<Lane, 2>& lanes, int64_t count) {
      const auto* index = lanes[1].pointer<int32_t>();
      for (int64_t i = 0; i < count; i++) {
        const int64_t k = index[i * lanes[1].stride];
        if (k < 0 || k >= n) {
          arguments.fail("index " + std::to_string(k) + " at " + std::to_string(i) + " lies outside the " +
                         std::to_string(n) + " elements of the source");
        }
        move_({from.base, from.offset + k * from.stride, 1},
              {lanes[0].base, lanes[0].offset + i * lanes[0].stride, 1}, 1);
      }
    });
  }
};

template <class Kernel>
KernelPointer make(const Variant& variant) {
  return std::make_shared<Kernel>(variant);
}

KernelPointer make_transpose_with_last(const Variant& variant) {
  const std::array<int, 3> order =
      variant.rank == 2 ? std::array<int, 3>{1, 0, 2} : std::array<int, 3>{2, 1, 0};
  return std::make_shared<Transpose>(variant, order, true);
}

KernelPointer make_transpose_without_last(const Variant& variant) {
  return std::make_shared<Transpose>(variant, std::array<int, 3>{1, 0, 2}, false);
}

KernelPointer make_channel(const Variant& variant) {
  return std::make_shared<Deinterleave>(variant, variant.operation[0] - '0', 2);
}

KernelPointer make_strided_copy(const Variant& variant) {
  return std::make_shared<Deinterleave>(variant, 0, 1);
}

constexpr char kAll[] =
    "bool int8_t uint8_t int16_t uint16_t int32_t uint32_t int64_t uint64_t half bfloat16_t float";
constexpr char kBytes[] =
    "int8_t uint8_t int16_t uint16_t int32_t uint32_t int64_t uint64_t half bfloat16_t float";
constexpr char kFrom16[] = "int16_t uint16_t int32_t uint32_t int64_t uint64_t half bfloat16_t float";
constexpr char kUpTo32[] = "int16_t uint16_t int32_t uint32_t half bfloat16_t float";

}  // namespace

const std::vector<Family>& layout_families() {
  static const std::vector<Family> families = {
      {"broadcast_scalar_{type}_to_{rank}d", "", "1 2", kAll, Pipe::V, make<Fill>},
      {"broadcast_{rank}d_{type}", "", "1", kAll, Pipe::V, make<Spread>},
      {"broadcast_first_axis_align_{rank}d_{type}", "", "2 3", kAll, Pipe::V, make<Spread>},
      {"broadcast_first_axis_{op}_{rank}d_{type}", "unalign unknown_align", "2 3", kFrom16, Pipe::V,
       make<Spread>},
      {"broadcast_middle_axis_align_{rank}d_{type}", "", "3", kAll, Pipe::V, make<Spread>},
      {"broadcast_last_axis_{op}_{rank}d_{type}", "align unalign unknown_align", "2", kFrom16, Pipe::V,
       make<Spread>},
      {"broadcast_last_axis_align_{rank}d_{type}", "", "2", "bool", Pipe::V, make<Spread>},
      {"arange_{rank}d_{type}", "", "1 2 3", "int16_t int32_t int64_t half float", Pipe::V, make<Arange>},
      {"transpose_{rank}d_with_last_axis_{type}", "", "2 3", kBytes, Pipe::V, make_transpose_with_last},
      {"transpose_{rank}d_without_last_axis_{type}", "", "3", kBytes, Pipe::V, make_transpose_without_last},
      {"deinterleave_channel_{op}_from_2_channels_{rank}d_{type}", "0 1", "1", kUpTo32, Pipe::V,
       make_channel},
      {"deinterleave_channel_0_from_n_channels_{rank}d_{type}", "", "1 2", kUpTo32, Pipe::V,
       make_strided_copy},
      {"interleave_{rank}d_{type}", "", "1", kUpTo32, Pipe::V, make<Interleave>},
      {"flip_{rank}d_{type}", "", "1", kBytes, Pipe::S, make<Flip>},
      {"gather_{rank}d_{type}", "", "1", kUpTo32, Pipe::V, make<Gather>},
  };
  return families;
}

}  // namespace hivm::micro
