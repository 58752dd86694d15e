#include "hivm/core.h"

#include "hivm/cost_model.h"
#include "hivm/view_check.h"

namespace hivm {
namespace {

double latency_of(Pipe pipe) { return pipe == Pipe::V ? cost::kVectorLatencyCycles : 0; }

// Adds what a transfer takes: start and bursts, the slower of L2 and (for lines that miss) HBM, and the way
// there.
void add_transfer(const Transfer& t, double l2_rate, Cycles& busy, Cycles& latency) {
  if (t.bursts == 0) return;
  const double start = cost::kTransferCycles + static_cast<double>(t.bursts - 1) * cost::kBurstCycles;
  const double from_l2 = static_cast<double>(t.bytes) / l2_rate;
  const double from_hbm = static_cast<double>(t.missing * cost::kL2LineBytes) / cost::kHbmBytesPerCycle;
  busy[kCold] += start + std::max(from_l2, from_hbm);
  busy[kWarm] += start + from_l2;
  latency[kCold] += t.missing ? cost::kHbmLatencyCycles : cost::kL2LatencyCycles;
  latency[kWarm] += cost::kL2LatencyCycles;
}

}  // namespace

void SimulatedCore::start_block(int64_t block, const std::array<int64_t, 4>& local_bytes) {
  block_ = block;
  timeline_.reset();
  scalar_busy_ = 0;
  for (const Space space : {Space::Ub, Space::L1, Space::L0c})
    memory_.fill(space, local_bytes[static_cast<size_t>(space)]);
}

void SimulatedCore::check_global(const View& view) {
  if (!is_sane(view)) throw ExecutionError("impossible view on global memory");
  const Extent extent = extent_of(view);
  guard_.check(extent.begin, extent.end);
}

void SimulatedCore::issue(const Work& work) {
  const double own = latency_of(work.pipe);
  Cycles busy{work.cycles, work.cycles}, latency{own, own};
  if (work.gm_read) add_transfer(traffic_.read(*work.gm_read), cost::kL2ReadBytesPerCycle, busy, latency);
  if (work.gm_write) add_transfer(traffic_.write(*work.gm_write), cost::kL2WriteBytesPerCycle, busy, latency);
  timeline_.issue(work.pipe, busy, latency);
}

void SimulatedCore::spend(int64_t cycles) {
  timeline_.spend(static_cast<double>(cycles));
  scalar_busy_ += static_cast<double>(cycles);
}

// The scalar unit waits for what it loads.
void SimulatedCore::scalar_load(const std::byte* begin, int64_t bytes) {
  guard_.check(begin, begin + bytes);
  const Transfer t = traffic_.read(begin, bytes);
  timeline_.spend(
      Cycles{cost::kScalarGmLoadCycles + (t.missing ? cost::kHbmLatencyCycles : cost::kL2LatencyCycles),
             cost::kScalarGmLoadCycles + cost::kL2LatencyCycles});
  scalar_busy_ += cost::kScalarGmLoadCycles + cost::kL2LatencyCycles;
}

void SimulatedCore::scalar_store(const std::byte* begin, int64_t bytes) {
  guard_.check(begin, begin + bytes);
  traffic_.write(begin, bytes);
  spend(cost::kScalarGmStoreCycles);
}

}  // namespace hivm
