// Moving data: global memory to unified buffer and back, and copies inside the buffer.
#include <algorithm>
#include <cstring>

#include "hivm/cost_model.h"
#include "hivm/micro/arguments.h"
#include "hivm/micro/family.h"
#include "hivm/micro/issue.h"
#include "hivm/micro/move.h"
#include "hivm/micro/rows.h"
#include "hivm/micro/vector_costs.h"

namespace hivm::micro {
namespace {

// read-modify-write in global memory
template <class T, class Operation>
void atomic_loop(const Lane& from, const Lane& to, int64_t n) {
  const T* source = from.pointer<T>();
  T* target = to.pointer<T>();
  for (int64_t i = 0; i < n; i++) {
    T& cell = target[i * to.stride];
    cell = T(Operation()(Wide<T>(cell), Wide<T>(source[i * from.stride])));
  }
}

struct AtomicAdd {
  float operator()(float a, float b) const { return a + b; }
  template <class W>
  W operator()(W a, W b) const {
    return static_cast<W>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  }
};
struct AtomicMax {
  template <class W>
  W operator()(W a, W b) const {
    return a > b || a != a ? a : b;
  }
};
struct AtomicMin {
  template <class W>
  W operator()(W a, W b) const {
    return a < b || a != a ? a : b;
  }
};

// kind 1 add, 2 max, 3 min; nullptr for any other
MoveLoop atomic_of(Type type, int64_t kind) {
  return with_type(type, [&](auto of) -> MoveLoop {
    using T = typename decltype(of)::type;
    if constexpr (!std::is_same_v<T, Bit>) {
      if (kind == 1) return atomic_loop<T, AtomicAdd>;
      if (kind == 2) return atomic_loop<T, AtomicMax>;
      if (kind == 3) return atomic_loop<T, AtomicMin>;
    }
    return nullptr;
  });
}

// How a transfer is described to the engine.
struct Transfer {
  int64_t instructions = 1;
  int64_t bursts = 1;
  int64_t row = 1;         // elements that lie together on both sides: one burst
  int row_dimensions = 0;  // how many of the last dimensions make up such a row
  bool scalar = false;     // not expressible: an element at a time by the scalar unit
};

// `local` in the unified buffer, `global` outside. Each row must start on a block of the buffer, after `left`
// elements of padding; one instruction moves all rows of one dimension unless their distance cannot be
// encoded.
Transfer plan(const View& local, const View& global, int64_t left) {
  const int64_t width = bytes_of(local.element);
  Transfer transfer;
  const int64_t start = reinterpret_cast<intptr_t>(local.base) + (local.offset - left) * width;
  transfer.scalar = start % cost::kBlockBytes != 0;
  int d = local.rank - 1;
  for (; d >= 0; d--) {
    if (local.sizes[d] != 1 && (local.strides[d] != transfer.row || global.strides[d] != transfer.row)) break;
    transfer.row *= local.sizes[d];
    transfer.row_dimensions++;
  }
  bool innermost = true;
  for (; d >= 0; d--) {
    if (local.sizes[d] == 1) continue;
    transfer.scalar |= local.strides[d] * width % cost::kBlockBytes != 0;
    transfer.bursts *= local.sizes[d];
    constexpr int64_t kWidestGap = int64_t{1} << 32;
    const int64_t gap = (global.strides[d] - transfer.row) * width;
    if (!innermost || gap < 0 || gap >= kWidestGap) transfer.instructions *= local.sizes[d];
    innermost = false;
  }
  return transfer;
}

// Cycles beyond those of one instruction with its bursts, which the core counts itself.
double transfer_cycles(const Transfer& transfer) {
  return static_cast<double>(transfer.instructions - 1) * (cost::kTransferCycles - cost::kBurstCycles);
}

// The scalar loop in the place of a transfer, between handshakes with the transfer's pipe.
void issue_scalar_transfer(Core& core, Pipe pipe, Work work, int64_t elements) {
  core.set_flag(pipe, Pipe::S, kLibraryEvent);
  core.wait_flag(pipe, Pipe::S, kLibraryEvent);
  work.pipe = Pipe::S;
  work.cycles = elements * cost::kScalarFallbackCycles;
  core.issue(work);
  core.set_flag(Pipe::S, pipe, kLibraryEvent);
  core.wait_flag(Pipe::S, pipe, kLibraryEvent);
}

void require_equal_shapes(const std::string& kernel, const View& source, const View& target) {
  for (int d = 0; d < source.rank; d++) {
    if (source.sizes[d] != target.sizes[d]) {
      throw ExecutionError(kernel + ": source of " + shape_text(source) + ", target of " +
                           shape_text(target) + "; the shapes must be equal");
    }
  }
}

// load_gm_to_ubuf(source, target, pad mode, pad value, left padding)
class Load final : public MicroKernel {
 public:
  explicit Load(const Variant& variant)
      : name_(variant.name), rank_(variant.rank), type_(variant.type), move_(move_of(variant.type)) {}

  void run(Core& core, const std::vector<Argument>& given) const override {
    const Arguments arguments(name_, given, 5, 5);
    const View &source = arguments.view(0, type_, rank_), &target = arguments.view(1, type_, rank_);
    const int64_t mode = arguments.integer(2), left = arguments.integer(4);
    // Padding is written beside the target, which only local memory has room for.
    if (target.space == Space::Gm) arguments.fail("the target lies in global memory");
    if (mode < 0 || mode > 2)
      arguments.fail("pad mode " + std::to_string(mode) + "; 0 none, 1 first element, 2 value");
    // Padding goes into the buffer that the target is a part of, never before it.
    if (left < 0 || left > target.offset) {
      arguments.fail("left padding of " + std::to_string(left) + " before a target at element " +
                     std::to_string(target.offset) + " of its buffer");
    }
    if (source.count() == 0) return;
    require_equal_shapes(name_, source, target);
    core.check_global(source);
    const Transfer transfer = plan(target, source, left);
    issue(core, transfer, source, target, mode);
    const Rows<2> rows(name_, {&target, &source});
    const auto move = [&](const std::array<Lane, 2>& lanes, int64_t n) { move_(lanes[1], lanes[0], n); };
    rows.each(move);
    if (left > 0 || !transfer.scalar) pad(target, transfer, mode, pad_bits(arguments), left);
    // Where rows lie closer than their left padding is wide (a strided target has rows of one element), the
    // elements stay and the padding is lost.
    if (left > 0 && transfer.bursts > 1) rows.each(move);
  }

 private:
  void issue(Core& core, const Transfer& transfer, const View& source, const View& target,
             int64_t mode) const {
    Work work;
    work.pipe = Pipe::Mte2;
    work.cycles = transfer_cycles(transfer);
    work.writes[0] = &target;
    work.gm_read = &source;
    if (transfer.scalar) {
      issue_scalar_transfer(core, Pipe::Mte2, work, source.count());
      return;
    }
    core.issue(work);
    if (mode == 2 && bits_of(target.element) == 64) {
      // The engine cannot pad with 64-bit values: the vector unit fills what the rows leave of their last
      // blocks.
      core.set_flag(Pipe::Mte2, Pipe::V, kLibraryEvent);
      core.wait_flag(Pipe::Mte2, Pipe::V, kLibraryEvent);
      issue_vector(core, transfer.bursts * (cost::kVectorStartCycles + cost::kVectorSimpleCycles), {}, {});
    }
  }

  uint64_t pad_bits(const Arguments& arguments) const {
    return with_type(type_, [&](auto of) -> uint64_t {
      using T = typename decltype(of)::type;
      uint64_t bits = 0;
      if constexpr (!std::is_same_v<T, Bit>) {
        const T value = arguments.scalar<T>(3);
        std::memcpy(&bits, &value, sizeof value);
      }
      return bits;
    });
  }

  // Each row is preceded by `left` elements, and completed to whole blocks if the engine moves it, of: the
  // value (mode 2), the row's first element (mode 1), zero (mode 0).
  void pad(const View& target, const Transfer& transfer, int64_t mode, uint64_t value, int64_t left) const {
    View row_starts = target;
    for (int d = rank_ - transfer.row_dimensions; d < rank_; d++) row_starts.sizes[d] = 1;
    const int64_t n = transfer.row;
    const auto width = static_cast<size_t>(bytes_of(target.element));
    Rows<1>(name_, {&row_starts}).each([&](const std::array<Lane, 1>& lanes, int64_t count) {
      for (int64_t i = 0; i < count; i++) {
        std::byte* const row = lanes[0].base + (lanes[0].offset + i * lanes[0].stride) * width;
        uint64_t fill = mode == 2 ? value : 0;
        if (mode == 1) std::memcpy(&fill, row, width);
        for (std::byte* to = row - left * width; to < row; to += width) std::memcpy(to, &fill, width);
        if (transfer.scalar) continue;
        std::byte* const end = row + n * width;
        const size_t rest = -reinterpret_cast<uintptr_t>(end) % cost::kBlockBytes;
        for (std::byte* to = end; to < end + rest; to += width) std::memcpy(to, &fill, width);
      }
    });
  }

  std::string name_;
  int rank_;
  Type type_;
  MoveLoop move_;
};

// load_gm_to_cbuf(source, target, pad mode): elements as they are, not in fractals: a bias.
class LoadL1 final : public MicroKernel {
 public:
  explicit LoadL1(const Variant& variant)
      : name_(variant.name), type_(variant.type), move_(move_of(variant.type)) {}

  void run(Core& core, const std::vector<Argument>& given) const override {
    const Arguments arguments(name_, given, 3, 3);
    const View &source = arguments.view(0, type_, 1), &target = arguments.view(1, type_, 1);
    if (arguments.integer(2) != 0)
      arguments.fail("pad mode " + std::to_string(arguments.integer(2)) + " is not supported; 0 is none");
    if (source.count() == 0) return;
    require_equal_shapes(name_, source, target);
    core.check_global(source);
    const Transfer transfer = plan(target, source, 0);
    if (transfer.scalar) arguments.fail("the target does not start at a multiple of 32 bytes of L1");
    Work work;
    work.pipe = Pipe::Mte2;
    work.cycles = transfer_cycles(transfer);
    work.writes[0] = &target;
    work.gm_read = &source;
    core.issue(work);
    Rows<2>(name_, {&target, &source}).each([&](const std::array<Lane, 2>& lanes, int64_t n) {
      move_(lanes[1], lanes[0], n);
    });
  }

 private:
  std::string name_;
  Type type_;
  MoveLoop move_;
};

// store_ubuf_to_gm(source, target, atomic kind)
class Store final : public MicroKernel {
 public:
  explicit Store(const Variant& variant)
      : name_(variant.name), rank_(variant.rank), type_(variant.type), move_(move_of(variant.type)) {}

  void run(Core& core, const std::vector<Argument>& given) const override {
    const Arguments arguments(name_, given, 3, 3);
    const View &source = arguments.view(0, type_, rank_), &target = arguments.view(1, type_, rank_);
    const int64_t kind = arguments.integer(2);
    const MoveLoop loop = kind == 0 ? move_ : atomic_of(type_, kind);
    if (!loop) arguments.fail("atomic kind " + std::to_string(kind) + "; 0 none, 1 add, 2 max, 3 min");
    if (source.count() == 0) return;
    require_equal_shapes(name_, source, target);
    core.check_global(target);
    const Transfer transfer = plan(source, target, 0);
    Work work;
    work.pipe = Pipe::Mte3;
    work.cycles = transfer_cycles(transfer);
    work.reads[0] = &source;
    work.gm_write = &target;
    if (kind != 0) work.gm_read = &target;  // read-modify-write
    if (transfer.scalar)
      issue_scalar_transfer(core, Pipe::Mte3, work, source.count());
    else
      core.issue(work);
    Rows<2>(name_, {&target, &source}).each([&](const std::array<Lane, 2>& lanes, int64_t n) {
      loop(lanes[1], lanes[0], n);
    });
  }

  bool keeps_order(const std::vector<std::optional<int64_t>>& integers) const override {
    return integers.size() < 3 || integers[2] != 0;
  }

 private:
  std::string name_;
  int rank_;
  Type type_;
  MoveLoop move_;
};

// copy_ubuf_to_ubuf(source, target, pad mode, pad value); the last two are not used
class Copy final : public MicroKernel {
 public:
  explicit Copy(const Variant& variant)
      : name_(variant.name), rank_(variant.rank), type_(variant.type), move_(move_of(variant.type)) {}

  void run(Core& core, const std::vector<Argument>& given) const override {
    const Arguments arguments(name_, given, 2, 4);
    const View &source = arguments.view(0, type_, rank_), &target = arguments.view(1, type_, rank_);
    require_equal_shapes(name_, source, target);
    if (vector_addressable(source) && vector_addressable(target)) {
      const double bytes = target.count() * bits_of(target.element) / 8.0;
      issue_vector(core, cost::kVectorStartCycles + bytes / cost::kLocalCopyBytes, {&source}, {&target});
    } else {
      issue_scalar(core, target.count(), {&source}, {&target});
    }
    const Source from(source, target);
    Rows<2>(name_, {&target, &from.view()}).each([&](const std::array<Lane, 2>& lanes, int64_t n) {
      move_(lanes[1], lanes[0], n);
    });
  }

 private:
  std::string name_;
  int rank_;
  Type type_;
  MoveLoop move_;
};

template <class Kernel>
KernelPointer make(const Variant& variant) {
  return std::make_shared<Kernel>(variant);
}

constexpr char kBytes[] =
    "int8_t uint8_t int16_t uint16_t int32_t uint32_t int64_t uint64_t half bfloat16_t float";
constexpr char kAll[] =
    "bool int8_t uint8_t int16_t uint16_t int32_t uint32_t int64_t uint64_t half bfloat16_t float";

}  // namespace

const std::vector<Family>& transfer_families() {
  static const std::vector<Family> families = {
      {"load_gm_to_ubuf_{rank}d_{type}", "", "1 2 3", kBytes, Pipe::Mte2, make<Load>},
      {"load_gm_to_cbuf_{rank}d_{type}", "", "1", "int32_t half float", Pipe::Mte2, make<LoadL1>},
      {"store_ubuf_to_gm_{rank}d_{type}", "", "1 2 3", kBytes, Pipe::Mte3, make<Store>},
      {"copy_ubuf_to_ubuf_{rank}d_{type}", "", "1 2 3", kAll, Pipe::V, make<Copy>},
  };
  return families;
}

}  // namespace hivm::micro
