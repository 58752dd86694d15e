// The matrix product of two tiles in L1, with the steps and flags that the library's code has.
#include <algorithm>
#include <cstring>
#include <optional>
#include <vector>

#include "hivm/cost_model.h"
#include "hivm/micro/arguments.h"
#include "hivm/micro/cube_costs.h"
#include "hivm/micro/family.h"
#include "hivm/micro/gemm.h"
#include "hivm/micro/issue.h"
#include "hivm/micro/rows.h"

namespace hivm::micro {
namespace {

constexpr int64_t kF = cost::kFractal;

int64_t round_up(int64_t n, int64_t step) { return (n + step - 1) / step * step; }

// A tile in L1: fractals (outer / c0, inner / 16, 16, c0) of a matrix with `inner` rows and `outer` columns.
struct Tile {
  const View* view;
  bool depth_is_outer;  // the matrix's columns are what the product sums over
  int64_t c0() const { return view->sizes[3]; }
  int64_t inner() const { return view->sizes[1] * kF; }
  int64_t outer() const { return view->sizes[0] * c0(); }
  int64_t depth() const { return depth_is_outer ? outer() : inner(); }
  int64_t length() const { return depth_is_outer ? inner() : outer(); }  // along the result
  // Elements of the fractals of the result that the tile reaches. Those of floats are half as wide as the
  // result's, so the last one may be filled by half.
  int64_t reached() const { return round_up(length(), kF); }
};

template <class T>
float to_float(T value) {
  return static_cast<float>(value);
}

// Packs the depths [first, first + depth) of a tile for add_product: [length / 16][depth][16].
template <class T>
void pack(const Tile& tile, int64_t length, int64_t first, int64_t depth, std::vector<float>& packed) {
  const View& v = *tile.view;
  const auto* base = reinterpret_cast<const T*>(v.base) + v.offset;
  const int64_t c0 = tile.c0();
  packed.resize(static_cast<size_t>(length * depth));
  if (tile.length() < length) std::fill(packed.begin(), packed.end(), 0.0f);
  // Index of an element in `packed` by its position along the result and in depth.
  const auto place = [&](int64_t along, int64_t d) {
    return along / kPanel * depth * kPanel + d * kPanel + along % kPanel;
  };
  float row[cost::kBlockBytes];
  for (int64_t inner = 0; inner < tile.inner(); inner++) {
    if (tile.depth_is_outer ? inner >= length : inner < first || inner >= first + depth) continue;
    for (int64_t block = 0; block < v.sizes[0]; block++) {
      const T* from = base + block * v.strides[0] + inner / kF * v.strides[1] + inner % kF * v.strides[2];
      for (int64_t i = 0; i < c0; i++) row[i] = to_float(from[i]);
      if (tile.depth_is_outer) {
        const int64_t low = std::max<int64_t>(0, first - block * c0);
        const int64_t high = std::min(c0, first + depth - block * c0);
        for (int64_t i = low; i < high; i++)
          packed[static_cast<size_t>(place(inner, block * c0 + i - first))] = row[i];
      } else {
        const int64_t count = std::min(c0, length - block * c0);
        for (int64_t i = 0; i < count; i += kPanel) {
          std::memcpy(&packed[static_cast<size_t>(place(block * c0 + i, inner - first))], row + i,
                      static_cast<size_t>(std::min(kPanel, count - i)) * sizeof(float));
        }
      }
    }
  }
}

// mma_tile(A, B, init, m, k, n, C, wait A, wait B, set A, set B, loop, back 0, back 1, unit flag): see the
// reference of the micro-kernels. m, k and n: what counts of the tiles; events of -1 are not used. With a
// bias it stands before C: one number for each column, dense in L1, that a product with `init` starts from.
class MatrixProduct final : public MicroKernel {
 public:
  explicit MatrixProduct(const Variant& variant)
      : name_(variant.name),
        transposed_a_(variant.operation.find("_ta") != variant.operation.npos),
        transposed_b_(variant.operation.find("_tb") != variant.operation.npos),
        type_(variant.type),
        result_(variant.second),
        bias_(type_named(variant.operation)) {}

  void run(Core& core, const std::vector<Argument>& given) const override {
    const size_t more = bias_ ? 1 : 0;
    const Arguments arguments(name_, given, 15 + more, 15 + more);
    const Tile a{&arguments.view(0, type_, 4), !transposed_a_};
    const Tile b{&arguments.view(1, type_, 4), transposed_b_};
    const View& c = arguments.view(6 + more, result_, 4);
    Call call;
    if (bias_) call.bias = &arguments.view(6, *bias_, 4);
    call.init = arguments.integer(2) != 0;
    call.m = arguments.integer(3);
    call.k = arguments.integer(4);
    call.n = arguments.integer(5);
    call.wait_a = arguments.integer(7 + more);
    call.wait_b = arguments.integer(8 + more);
    call.set_a = arguments.integer(9 + more);
    call.set_b = arguments.integer(10 + more);
    call.loop = arguments.integer(11 + more);
    call.back[0] = arguments.integer(12 + more);
    call.back[1] = arguments.integer(13 + more);
    call.unit_flag = arguments.integer(14 + more) != 0;
    if (call.m == 0 || call.k == 0 || call.n == 0) {
      wait(core, Pipe::Mte2, Pipe::Mte1, call.wait_a);
      wait(core, Pipe::Mte2, Pipe::Mte1, call.wait_b);
      set(core, Pipe::Mte1, Pipe::Mte2, call.set_a);
      set(core, Pipe::Mte1, Pipe::Mte2, call.set_b);
      return;
    }
    check(arguments, a, b, c, call);
    issue(core, a, b, c, call);
    if (result_ == Type::Int32)
      compute_integers(a, b, c, call);
    else
      compute(a, b, c, call);
  }

 private:
  struct Call {
    bool init = false, unit_flag = false;
    int64_t m = 0, k = 0, n = 0, wait_a = -1, wait_b = -1, set_a = -1, set_b = -1, loop = -1;
    int64_t back[2] = {-1, -1};
    const View* bias = nullptr;
  };

  static void set(Core& core, Pipe source, Pipe target, int64_t event) {
    if (event != -1) core.set_flag(source, target, event);
  }
  static void wait(Core& core, Pipe source, Pipe target, int64_t event) {
    if (event != -1) core.wait_flag(source, target, event);
  }

  void check(const Arguments& arguments, const Tile& a, const Tile& b, const View& c,
             const Call& call) const {
    const int64_t c0 = cost::kBlockBytes / bytes_of(element_of(type_));
    for (const Tile* tile : {&a, &b}) {
      const View& v = *tile->view;
      if (v.sizes[3] != c0 || v.sizes[2] != kF || v.strides[3] != 1)
        arguments.fail("a tile " + shape_text(v) + " does not end with dense fractals of 16 x " +
                       std::to_string(c0));
    }
    if (c.sizes[2] != kF || c.sizes[3] != kF || c.strides[2] != kF || c.strides[3] != 1)
      arguments.fail("the result " + shape_text(c) + " does not end with dense fractals of 16 x 16");
    if (call.m < 0 || call.k < 0 || call.n < 0 || call.m > a.length() || call.m > c.sizes[1] * kF ||
        call.n > b.length() || call.n > c.sizes[0] * kF || call.k > a.depth() || call.k > b.depth()) {
      arguments.fail("m, k, n = " + std::to_string(call.m) + ", " + std::to_string(call.k) + ", " +
                     std::to_string(call.n) + " with tiles " + shape_text(*a.view) + ", " +
                     shape_text(*b.view) + " and " + shape_text(c));
    }
    if (call.bias && (call.bias->count() < call.n || call.bias->strides[3] != 1))
      arguments.fail("a bias " + shape_text(*call.bias) + " for " + std::to_string(call.n) + " columns");
  }

  // The whole height of A takes part, whatever m is; of B the fractals up to n.
  static int64_t height(const Tile& a, const View& c) { return std::min(a.reached() / kF, c.sizes[1]) * kF; }
  static int64_t width(const Tile& b, const View& c, const Call& call) {
    return std::min({round_up(call.n, kF), b.reached(), c.sizes[0] * kF});
  }

  // What the library gives to the pipes: parts of the depth, in turns in the two halves of L0A and L0B.
  void issue(Core& core, const Tile& a, const Tile& b, const View& c, const Call& call) const {
    const int64_t size = bytes_of(element_of(type_)), align = std::max<int64_t>(kF, cost::kBlockBytes / size);
    const int64_t widest = round_up(std::max(a.reached(), b.reached()), align);
    int64_t part = cost::kL0Bytes / 2 / size / widest / align * align;
    const bool doubled = part > 0;
    if (!doubled) part = cost::kL0Bytes / size / widest / align * align;
    if (part == 0) throw ExecutionError(name_ + ": a tile of " + std::to_string(widest) + " does not fit L0");
    const int64_t parts = (call.k + part - 1) / part;
    const int64_t events[2] = {call.back[0] == -1 ? 0 : call.back[0], call.back[1] == -1 ? 1 : call.back[1]};
    for (int half = 0; half < 2; half++) {
      if (call.back[half] == -1) core.set_flag(Pipe::M, Pipe::Mte1, events[half]);
    }
    const int64_t small = a.reached() / kF * (round_up(call.n, kF) / kF);
    for (int64_t i = 0; i < parts; i++) {
      const int64_t depth = std::min(part, call.k - i * part);
      const int64_t half = doubled ? (call.loop == -1 ? i : call.loop * parts + i) % 2 : 0;
      const bool last = i == parts - 1;
      for (int64_t h = half; h < (doubled ? half + 1 : 2); h++)
        core.wait_flag(Pipe::M, Pipe::Mte1, events[h]);
      if (i == 0) wait(core, Pipe::Mte2, Pipe::Mte1, call.wait_a);
      load(core, *a.view, a.reached() * depth * size, cost::kL1ToL0aBytesPerCycle);
      if (last) set(core, Pipe::Mte1, Pipe::Mte2, call.set_a);
      if (i == 0) wait(core, Pipe::Mte2, Pipe::Mte1, call.wait_b);
      load(core, *b.view, round_up(call.n, kF) * depth * size, cost::kL1ToL0bBytesPerCycle);
      if (last) set(core, Pipe::Mte1, Pipe::Mte2, call.set_b);
      if (call.bias)
        load(core, *call.bias, round_up(call.n, kF) * bytes_of(call.bias->element),
             cost::kL1ToBiasBytesPerCycle);
      core.set_flag(Pipe::Mte1, Pipe::M, kLibraryEvent);
      core.wait_flag(Pipe::Mte1, Pipe::M, kLibraryEvent);
      Work work;
      work.pipe = Pipe::M;
      const int64_t step = cost::mad_depth(static_cast<int>(size));
      work.cycles =
          cost::kMadStartCycles +
          static_cast<double>(a.reached() / kF * (round_up(call.n, kF) / kF) * ((depth + step - 1) / step));
      work.writes[0] = &c;
      if (!call.init || i > 0) work.reads[0] = &c;
      if (call.unit_flag) work.unit_flag = Pipe::Fix;
      core.issue(work);
      if (small < cost::kSmallTile) core.barrier(Pipe::M);
      for (int64_t h = half; h < (doubled ? half + 1 : 2); h++) core.set_flag(Pipe::M, Pipe::Mte1, events[h]);
    }
    for (int half = 0; half < 2; half++) {
      if (call.back[half] == -1) core.wait_flag(Pipe::M, Pipe::Mte1, events[half]);
    }
  }

  static void load(Core& core, const View& tile, int64_t bytes, double rate) {
    Work work;
    work.pipe = Pipe::Mte1;
    work.cycles = cost::kMte1StartCycles + static_cast<double>(bytes) / rate;
    work.reads[0] = &tile;
    core.issue(work);
  }

  void pack_both(const Tile& a, const Tile& b, int64_t rows, int64_t columns, int64_t first, int64_t depth,
                 std::vector<float>& left, std::vector<float>& right) const {
    with_type(type_, [&](auto of) {
      using T = typename decltype(of)::type;
      if constexpr (!std::is_same_v<T, Bit>) {
        pack<T>(a, rows, first, depth, left);
        pack<T>(b, columns, first, depth, right);
      }
    });
  }

  template <class R>
  R bias_at(const View& bias, int64_t column) const {
    if (*bias_ == Type::Half)
      return static_cast<R>(to_float(reinterpret_cast<const Half*>(bias.base)[bias.offset + column]));
    return reinterpret_cast<const R*>(bias.base)[bias.offset + column];
  }

  // What a product with `init` adds to: the bias in every row, or zero.
  template <class R>
  void start(const View& c, const Call& call, int64_t rows, int64_t columns) const {
    R row[kF];
    for (int64_t n = 0; n < columns / kF; n++) {
      std::fill(row, row + kF, R{});
      const int64_t count = call.bias ? std::min(kF, call.n - n * kF) : 0;
      for (int64_t i = 0; i < count; i++) row[i] = bias_at<R>(*call.bias, n * kF + i);
      for (int64_t m = 0; m < rows; m++) {
        const int64_t at = n * c.strides[0] + m / kF * c.strides[1] + m % kF * kF;
        std::memcpy(c.base + (c.offset + at) * static_cast<int64_t>(sizeof(R)), row, sizeof row);
      }
    }
  }

  void compute(const Tile& a, const Tile& b, const View& c, const Call& call) const {
    const int64_t rows = height(a, c), columns = width(b, c, call);
    static thread_local std::vector<float> left, right;  // kept from call to call: most tiles are alike
    pack_both(a, b, rows, columns, 0, call.k, left, right);
    if (call.init) start<float>(c, call, rows, columns);
    add_product(left.data(), right.data(), reinterpret_cast<float*>(c.base) + c.offset, rows, columns, call.k,
                c.strides[1], c.strides[0]);
  }

  // Products of bytes add up exactly in float over 1024 depths: 2^7 * 2^7 * 2^10 = 2^24.
  void compute_integers(const Tile& a, const Tile& b, const View& c, const Call& call) const {
    constexpr int64_t kExact = 1024;
    const int64_t rows = height(a, c), columns = width(b, c, call);
    static thread_local std::vector<float> left, right, sums;
    if (call.init) start<int32_t>(c, call, rows, columns);
    auto* const result = reinterpret_cast<uint32_t*>(c.base) + c.offset;
    for (int64_t first = 0; first < call.k; first += kExact) {
      const int64_t depth = std::min(kExact, call.k - first);
      pack_both(a, b, rows, columns, first, depth, left, right);
      sums.assign(static_cast<size_t>(rows * columns), 0.0f);
      add_product(left.data(), right.data(), sums.data(), rows, columns, depth, kF * kF, rows * kF);
      const float* sum = sums.data();
      for (int64_t n = 0; n < columns / kF; n++) {
        for (int64_t m = 0; m < rows / kF; m++, sum += kF * kF) {
          uint32_t* to = result + n * c.strides[0] + m * c.strides[1];
          for (int64_t i = 0; i < kF * kF; i++) to[i] += static_cast<uint32_t>(static_cast<int32_t>(sum[i]));
        }
      }
    }
  }

  std::string name_;
  bool transposed_a_, transposed_b_;
  Type type_, result_;
  std::optional<Type> bias_;
};

KernelPointer make_product(const Variant& variant) { return std::make_shared<MatrixProduct>(variant); }

constexpr char kReals[] = "half:float bfloat16_t:float float:float";
constexpr char kTypes[] = "half:float bfloat16_t:float float:float int8_t:int32_t";

}  // namespace

const std::vector<Family>& product_families() {
  static const std::vector<Family> families = {
      {"mma_tile_{from}_to_{to}", "", "", kTypes, Pipe::M, make_product},
      {"mma_tile_{from}_to_{to}{op}", "_ta _tb _ta_tb", "", kTypes, Pipe::M, make_product},
      {"mma_tile_with_{op}_bias_{from}_to_{to}", "float half", "", kReals, Pipe::M, make_product},
      {"mma_tile_with_{op}_bias_{from}_to_{to}", "int32_t", "", "int8_t:int32_t", Pipe::M, make_product},
  };
  return families;
}

}  // namespace hivm::micro
