#include "hivm/core.h"

#include "hivm/cost_model.h"
#include "hivm/view_check.h"

namespace hivm {
namespace {

double latency_of(Pipe pipe) {
  switch (pipe) {
    case Pipe::V:
      return cost::kVectorLatencyCycles;
    case Pipe::Mte1:
      return cost::kMte1LatencyCycles;
    case Pipe::M:
      return cost::kMadLatencyCycles;
    case Pipe::Fix:
      return cost::kFixLatencyCycles;
    default:
      return 0;
  }
}

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

void SimulatedCore::start_block(int64_t block) {
  block_ = block;
  timeline_.reset();
  if (races_) races_->reset();
  scalar_busy_ = 0;
  for (const Space space : {Space::Ub, Space::L1, Space::L0c})
    memory_.fill(space, code_.local_bytes[static_cast<size_t>(space)]);
}

void SimulatedCore::check_global(const View& view) {
  if (!is_sane(view)) throw ExecutionError("impossible view on global memory");
  const Extent extent = extent_of(view);
  context_.guard.check(extent.begin, extent.end);
}

void SimulatedCore::issue(const Work& work) {
  if (races_) races_->issue(work);
  const double own = latency_of(work.pipe);
  Cycles busy{work.cycles, work.cycles}, latency{own, own};
  if (work.gm_read)
    add_transfer(context_.traffic.read(*work.gm_read), cost::kL2ReadBytesPerCycle, busy, latency);
  if (work.gm_write) {
    const double rate = work.pipe == Pipe::Fix ? cost::kFixL2WriteBytesPerCycle : cost::kL2WriteBytesPerCycle;
    add_transfer(context_.traffic.write(*work.gm_write), rate, busy, latency);
  }
  if (work.unit_flag != Pipe::All) timeline_.hold(work.pipe, timeline_.done(work.unit_flag));
  timeline_.issue(work.pipe, busy, latency);
}

void SimulatedCore::print(int64_t text, const std::string& values) {
  const std::vector<std::string>& texts = code_.texts;
  if (text > 0 && static_cast<size_t>(text) <= texts.size()) context_.output += texts[text - 1];
  context_.output += values + '\n';
}

void SimulatedCore::spend(int64_t cycles) {
  timeline_.spend(static_cast<double>(cycles));
  scalar_busy_ += static_cast<double>(cycles);
}

// The scalar unit waits for what it loads.
void SimulatedCore::scalar_load(const std::byte* begin, int64_t bytes) {
  context_.guard.check(begin, begin + bytes);
  const Transfer t = context_.traffic.read(begin, bytes);
  timeline_.spend(
      Cycles{cost::kScalarGmLoadCycles + (t.missing ? cost::kHbmLatencyCycles : cost::kL2LatencyCycles),
             cost::kScalarGmLoadCycles + cost::kL2LatencyCycles});
  scalar_busy_ += cost::kScalarGmLoadCycles + cost::kL2LatencyCycles;
}

void SimulatedCore::scalar_store(const std::byte* begin, int64_t bytes) {
  context_.guard.check(begin, begin + bytes);
  context_.traffic.write(begin, bytes);
  spend(cost::kScalarGmStoreCycles);
}

void SimulatedCore::set_block_flag(Pipe source, int64_t flag, bool all_blocks) {
  Cycles time = timeline_.done(source);
  for (double& t : time) t += cost::kBlockFlagCycles;
  if (all_blocks)
    context_.all->set(place_.kind, place_.member, flag, time);
  else
    place_.block->set(place_.kind, place_.sub_block, flag, time);
}

bool SimulatedCore::wait_block_flag(Pipe target, int64_t flag, bool all_blocks) {
  Cycles time;
  const bool set = all_blocks ? context_.all->take(place_.kind, place_.member, flag, time)
                              : place_.block->take(place_.kind, place_.sub_block, flag, time);
  if (set) timeline_.hold(target, time);
  return set;
}

}  // namespace hivm
