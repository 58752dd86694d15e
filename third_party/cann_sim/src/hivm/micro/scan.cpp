// Running sums and products along an axis that is not the last.
#include "hivm/cost_model.h"
#include "hivm/micro/arguments.h"
#include "hivm/micro/family.h"
#include "hivm/micro/issue.h"
#include "hivm/micro/rows.h"

namespace hivm::micro {
namespace {

struct Plus {
  float operator()(float a, float b) const { return a + b; }
  template <class W>
  W operator()(W a, W b) const {
    return static_cast<W>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  }
};
struct Times {
  float operator()(float a, float b) const { return a * b; }
  template <class W>
  W operator()(W a, W b) const {
    return static_cast<W>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
  }
};

// target = before (x) source; `before` is nullptr for the first row
using StepLoop = void (*)(const Lane& target, const Lane& source, const Lane* before, int64_t n);

template <class T, class Operation>
void step_loop(const Lane& target, const Lane& source, const Lane* before, int64_t n) {
  using W = Wide<T>;
  T* to = target.pointer<T>();
  const T* x = source.pointer<T>();
  for (int64_t i = 0; i < n; i++) {
    const T value = x[i * source.stride];
    to[i * target.stride] =
        before ? T(Operation()(W(before->pointer<T>()[i * before->stride]), W(value))) : value;
  }
}

View slice(View view, int axis, int64_t index) {
  view.offset += index * view.strides[axis];
  view.sizes[axis] = 1;
  return view;
}

// cum(source, target)
class Scan final : public MicroKernel {
 public:
  Scan(const Variant& variant, StepLoop loop)
      : name_(variant.name),
        type_(variant.type),
        loop_(loop),
        rank_(variant.shape.substr(0, 3) == "ara" ? 3 : 2),
        axis_(rank_ - 2),
        reverse_(variant.shape.find("reverse") != std::string_view::npos) {}

  void run(Core& core, const std::vector<Argument>& given) const override {
    const Arguments arguments(name_, given, 2, 2);
    const View &source = arguments.view(0, type_, rank_), &target = arguments.view(1, type_, rank_);
    for (int d = 0; d < rank_; d++) {
      if (source.sizes[d] != target.sizes[d]) fail_shapes(name_, source, target);
    }
    issue_elements(core, target, bits_of(target.element), cost::kVectorSimpleCycles, {&source}, {&target});
    const Source before(source, target);
    const int64_t n = target.sizes[axis_];
    View previous;
    for (int64_t k = 0; k < n; k++) {
      const int64_t i = reverse_ ? n - 1 - k : k;
      const View to = slice(target, axis_, i), from = slice(before.view(), axis_, i);
      if (k == 0) previous = to;
      Rows<3>(name_, {&to, &from, &previous}).each([&](const std::array<Lane, 3>& lanes, int64_t count) {
        loop_(lanes[0], lanes[1], k ? &lanes[2] : nullptr, count);
      });
      previous = to;
    }
  }

 private:
  std::string name_;
  Type type_;
  StepLoop loop_;
  int rank_, axis_;
  bool reverse_;
};

template <class Operation>
StepLoop loop_of(Type type) {
  switch (type) {
    case Type::Float:
      return step_loop<float, Operation>;
    case Type::Half:
      return step_loop<Half, Operation>;
    case Type::Int32:
      return step_loop<int32_t, Operation>;
    case Type::Int16:
      return step_loop<int16_t, Operation>;
    default:
      return nullptr;
  }
}

KernelPointer make_scan(const Variant& variant) {
  const StepLoop loop =
      variant.operation == "cumsum" ? loop_of<Plus>(variant.type) : loop_of<Times>(variant.type);
  if (!loop) return nullptr;
  return std::make_shared<Scan>(variant, loop);
}

}  // namespace

const std::vector<Family>& scan_families() {
  static const std::vector<Family> families = {
      {"{op}_{rank}_{type}", "cumsum cumprod", "ra ara ra_reverse ara_reverse", "int16_t int32_t half float",
       Pipe::V, make_scan},
  };
  return families;
}

}  // namespace hivm::micro
