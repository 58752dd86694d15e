// The lock that lets blocks pass one after the other.
#include <cstring>

#include "hivm/micro/arguments.h"
#include "hivm/micro/family.h"
#include "hivm/micro/vector_costs.h"

namespace hivm::micro {
namespace {

const View& cell_of(const Arguments& arguments) {
  const View& cell = arguments.view(0, Type::Int64, 1);
  if (cell.sizes[0] < 1) arguments.fail("the lock is an empty view");
  return cell;
}

std::byte* address_of(const View& cell) { return cell.base + cell.offset * bytes_of(cell.element); }

// sync_block_lock(cell): goes on when the cell holds this block's number.
class Lock final : public MicroKernel {
 public:
  explicit Lock(const Variant& variant) : name_(variant.name) {}

  bool keeps_order(const std::vector<std::optional<int64_t>>&) const override { return true; }

  void run(Core& core, const std::vector<Argument>& given) const override {
    const Arguments arguments(name_, given, 1, 1);
    const View& cell = cell_of(arguments);
    core.check_global(cell);
    Work work;
    work.pipe = Pipe::S;
    work.cycles = cost::kLockPollCycles;
    work.gm_read = &cell;
    core.issue(work);
    int64_t turn;
    std::memcpy(&turn, address_of(cell), sizeof turn);
    // Blocks are executed in the order of their numbers, so a lock that is not free now never will be.
    if (turn != core.block_index()) {
      arguments.fail("the lock is at block " + std::to_string(turn) + " and block " +
                     std::to_string(core.block_index()) + " would wait forever");
    }
  }

 private:
  std::string name_;
};

// sync_block_unlock(cell): when all of this core's work is done, it is the next block's turn.
class Unlock final : public MicroKernel {
 public:
  explicit Unlock(const Variant& variant) : name_(variant.name) {}

  bool keeps_order(const std::vector<std::optional<int64_t>>&) const override { return true; }

  void run(Core& core, const std::vector<Argument>& given) const override {
    const Arguments arguments(name_, given, 1, 1);
    const View& cell = cell_of(arguments);
    core.check_global(cell);
    core.barrier(Pipe::All);
    Work work;
    work.pipe = Pipe::S;
    work.cycles = cost::kLockPollCycles;
    work.gm_write = &cell;
    core.issue(work);
    const int64_t turn = core.block_index() + 1;
    std::memcpy(address_of(cell), &turn, sizeof turn);
  }

 private:
  std::string name_;
};

template <class Kernel>
KernelPointer make(const Variant& variant) {
  return std::make_shared<Kernel>(variant);
}

}  // namespace

const std::vector<Family>& sync_families() {
  static const std::vector<Family> families = {
      {"sync_block_lock", "", "", "", Pipe::S, make<Lock>},
      {"sync_block_unlock", "", "", "", Pipe::S, make<Unlock>},
  };
  return families;
}

}  // namespace hivm::micro
