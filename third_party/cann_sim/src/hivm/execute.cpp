#include "hivm/execute.h"

#include <algorithm>
#include <string>

#include "hivm/core.h"
#include "hivm/cost_model.h"
#include "hivm/scalar.h"

namespace hivm {
namespace {

constexpr int64_t kMostLoops = int64_t{1} << 30;  // iterations of all loops of a launch, a few seconds
constexpr uint32_t kMostBlocks = 65535;           // what fits into the 16 bits that a launch has for it

[[noreturn]] void bad_arguments(const Code& code, const Launch& launch, const std::string& what) {
  throw ExecutionError("kernel '" + code.entry + "': " + what + " (argument struct of " +
                       std::to_string(launch.argument_bytes) + " bytes)");
}

bool is_wide(const ir::Type& type) {
  return type.kind != ir::Type::Kind::Scalar || bits_of(type.element) == 64;
}

// A dimension that the type leaves open is unknown here: the kernel gets a bare pointer. Its views are made
// by reinterpret_cast; a size that no allocation has makes any other use an error.
constexpr int64_t kUnknownSize = int64_t{1} << 40;

View argument_view(const ir::Type& type, uint64_t address) {
  View v;
  v.base = reinterpret_cast<std::byte*>(address);
  v.element = type.element;
  v.space = type.space;
  v.rank = static_cast<uint8_t>(type.shape.size());
  int64_t stride = 1;
  for (int d = v.rank - 1; d >= 0; d--) {
    v.sizes[d] = type.shape[d] == ir::kDynamic ? kUnknownSize : type.shape[d];
    v.strides[d] = type.has_strides && type.strides[d] != ir::kDynamic ? type.strides[d] : stride;
    if (__builtin_mul_overflow(stride, v.sizes[d], &stride)) stride = kUnknownSize;
  }
  return v;
}

// The struct holds 8 bytes, aligned to 8, for each memref, i64, f64 and index, and 4 bytes for all else.
void decode_arguments(const Code& code, const Launch& launch, Frame& frame) {
  const auto* bytes = static_cast<const std::byte*>(launch.arguments);
  size_t at = 0;
  for (const CodeParameter& parameter : code.parameters) {
    const size_t width = is_wide(parameter.type) ? 8 : 4;
    at = (at + width - 1) / width * width;
    if (at + width > launch.argument_bytes || !bytes)
      bad_arguments(code, launch, "the launch passes too few arguments");
    const std::byte* p = bytes + at;
    const Element e = parameter.type.element;
    if (parameter.type.kind == ir::Type::Kind::MemRef) {
      frame.views[parameter.slot] = argument_view(parameter.type, from_bytes<uint64_t>(p));
    } else if (is_float(e)) {
      // f16 and bf16 arrive as a float.
      frame.scalars[parameter.slot].f =
          width == 8 ? from_bytes<double>(p) : round_to(e, from_bytes<float>(p));
    } else {
      frame.scalars[parameter.slot].i =
          width == 8 ? from_bytes<int64_t>(p) : wrap_to(e, from_bytes<int32_t>(p));
    }
    at += width;
  }
  if ((at + 7) / 8 * 8 != (size_t{launch.argument_bytes} + 7) / 8 * 8) {
    bad_arguments(code, launch, "the kernel takes " + std::to_string(at) + " bytes");
  }
}

Frame make_frame(const Code& code, SimulatedCore& core) {
  Frame frame;
  frame.code = &code;
  frame.core = &core;
  frame.scalars = code.scalars;
  frame.views = code.views;
  frame.loops_left = kMostLoops;
  for (const uint32_t slot : code.local_views) {
    View& v = frame.views[slot];
    v.base = core.local_memory(v.space) + reinterpret_cast<uint64_t>(v.base);
  }
  for (const CallSite& site : code.calls) {
    std::vector<Argument>& arguments = frame.calls.emplace_back(site.arguments.size());
    for (size_t i = 0; i < arguments.size(); i++) {
      const CallSite::Source& source = site.arguments[i];
      arguments[i].is_view = source.is_view;
      if (!source.constant) continue;
      if (source.is_view)
        arguments[i].view = frame.views[source.slot];
      else if (source.is_float)
        arguments[i].real = frame.scalars[source.slot].f;
      else
        arguments[i].integer = frame.scalars[source.slot].i;
    }
  }
  return frame;
}

void run_block(const Code& code, Frame& frame) {
  const Instruction* next = code.instructions.data();
  while (next) {
    frame.cycles += next->cycles;
    next = next->step(next, frame);
  }
}

}  // namespace

// Blocks run one after the other, in order: locks between blocks and floating point atomics then give the
// same result every time. Blocks that are independent could be spread over host threads here, each with its
// own core and frame.
Report execute(const Code& code, const Launch& launch, const GlobalMemory& memory) {
  if (launch.blocks > kMostBlocks) {
    throw ExecutionError("kernel '" + code.entry + "': " + std::to_string(launch.blocks) +
                         " blocks, at most " + std::to_string(kMostBlocks) + " can be launched");
  }
  GlobalGuard guard(memory);
  Traffic traffic;
  SimulatedCore core(LocalMemory::Kind::Vector, guard, traffic);
  Frame frame = make_frame(code, core);
  decode_arguments(code, launch, frame);

  Report report;
  std::vector<Cycles> cores(cost::kVectorCores, Cycles{});
  for (uint32_t block = 0; block < launch.blocks; block++) {
    core.start_block(block, code.local_bytes);
    try {
      run_block(code, frame);
      if (const int left = core.timeline().flags_left()) {
        throw ExecutionError(std::to_string(left) + " flags are still set at the end");
      }
    } catch (const ExecutionError& error) {
      throw ExecutionError("kernel '" + code.entry + "' block " + std::to_string(block) + ": " +
                           error.what());
    }
    const Cycles end = core.timeline().end();
    Cycles& total = cores[block % cost::kVectorCores];
    for (int s = 0; s < kScenarios; s++)
      total[s] += cost::kBlockDispatchCycles + end[s] + cost::kBlockEndCycles;
    for (int p = 0; p < kPipes; p++)
      report.pipe_busy_ns[p] += cost::nanoseconds(core.timeline().busy(static_cast<Pipe>(p)));
    report.pipe_busy_ns[static_cast<int>(Pipe::S)] += cost::nanoseconds(core.scalar_busy());
  }
  Cycles longest{};
  for (const Cycles& c : cores) {
    for (int s = 0; s < kScenarios; s++) longest[s] = std::max(longest[s], c[s]);
  }
  // All cores share HBM and L2: no launch is faster than these move its data.
  const double hbm = static_cast<double>(traffic.total_missing() * cost::kL2LineBytes) /
                     cost::bytes_per_cycle(cost::kHbmTotalGBs);
  const double l2 = static_cast<double>(traffic.total_bytes()) / cost::bytes_per_cycle(cost::kL2TotalGBs);
  report.cold_ns = cost::nanoseconds(cost::kLaunchCycles + std::max({longest[kCold], hbm, l2}));
  report.warm_ns = cost::nanoseconds(cost::kLaunchCycles + std::max(longest[kWarm], l2));
  report.reads = traffic.reads();
  report.writes = traffic.writes();
  return report;
}

}  // namespace hivm
