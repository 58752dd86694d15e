#include "hivm/micro/issue.h"

#include <algorithm>

#include "hivm/cost_model.h"
#include "hivm/micro/vector_costs.h"

namespace hivm::micro {
namespace {

int64_t divide_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

Work work_of(Pipe pipe, double cycles, Views reads, Views writes) {
  Work work;
  work.pipe = pipe;
  work.cycles = cycles;
  std::copy(reads.begin(), reads.end(), work.reads);
  std::copy(writes.begin(), writes.end(), work.writes);
  return work;
}

}  // namespace

bool vector_addressable(const View& view) {
  const int width = bits_of(view.element);
  constexpr int64_t kBlockBits = cost::kBlockBytes * 8;
  // Local memories start on a block boundary of the host, so that host addresses show the core's alignment.
  const auto first_bit =
      static_cast<int64_t>(reinterpret_cast<uintptr_t>(view.base)) * 8 + view.offset * width;
  if (first_bit % kBlockBits != 0) return false;
  const int last = view.rank - 1;
  if (last >= 0 && view.sizes[last] > 1 && view.strides[last] != 1) return false;
  if (last < 1 || view.sizes[last - 1] <= 1) return true;
  // A column is spread from dense elements as well as from one per block.
  if (view.sizes[last] == 1 && view.strides[last - 1] == 1) return true;
  return view.strides[last - 1] * width % kBlockBits == 0;
}

double vector_cycles(const View& shape, int width, double cycles_per_repeat) {
  const int64_t count = shape.count();
  if (count == 0) return 0;
  // A row is what lies together; rows shorter than a repeat still take one each.
  int64_t row = 1, expected = 1;
  for (int d = shape.rank - 1; d >= 0 && (shape.sizes[d] == 1 || shape.strides[d] == expected); d--) {
    row *= shape.sizes[d];
    expected = row;
  }
  const int64_t per_row = divide_up(row * width, static_cast<int64_t>(cost::kVectorBytes) * 8),
                rows = count / row;
  // Either along each row, or down the rows in columns one repeat wide: the library takes the shorter
  // program.
  const int64_t along = rows * divide_up(per_row, cost::kMaxRepeats),
                down = per_row * divide_up(rows, cost::kMaxRepeats);
  return std::min(along, down) * cost::kVectorStartCycles + rows * per_row * cycles_per_repeat;
}

void issue_vector(Core& core, double cycles, Views reads, Views writes) {
  core.issue(work_of(Pipe::V, cycles, reads, writes));
}

void issue_scalar(Core& core, int64_t elements, Views reads, Views writes) {
  core.set_flag(Pipe::V, Pipe::S, kLibraryEvent);
  core.wait_flag(Pipe::V, Pipe::S, kLibraryEvent);
  core.issue(work_of(Pipe::S, elements * cost::kScalarFallbackCycles, reads, writes));
  core.set_flag(Pipe::S, Pipe::V, kLibraryEvent);
  core.wait_flag(Pipe::S, Pipe::V, kLibraryEvent);
}

void issue_elements(Core& core, const View& shape, int width, double cycles_per_repeat, Views reads,
                    Views writes) {
  const bool addressable =
      std::all_of(reads.begin(), reads.end(), [](auto* v) { return vector_addressable(*v); }) &&
      std::all_of(writes.begin(), writes.end(), [](auto* v) { return vector_addressable(*v); });
  if (addressable) {
    issue_vector(core, vector_cycles(shape, width, cycles_per_repeat), reads, writes);
  } else {
    issue_scalar(core, shape.count(), reads, writes);
  }
}

}  // namespace hivm::micro
