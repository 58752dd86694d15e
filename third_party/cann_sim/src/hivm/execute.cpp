#include "hivm/execute.h"

#include <algorithm>
#include <exception>
#include <string>
#include <system_error>
#include <thread>

#include "hivm/block_group.h"
#include "hivm/cost_model.h"

namespace hivm {
namespace {

constexpr uint32_t kMostBlocks = 65535;  // what fits into the 16 bits that a launch has for it
// Independent blocks are executed in so many parts, each by a host thread of its own. The number never
// changes: which first touches of L2 lines miss is decided within a part, so the durations are the same on
// every machine.
constexpr uint32_t kParts = 2;

// The blocks [first, first + count) of a launch, and what came of them.
struct Part {
  uint32_t first = 0, count = 0;
  Traffic traffic;
  std::string output;
  std::vector<Cycles> ends;  // by block
  double pipe_busy_ns[kPipes] = {};
  std::exception_ptr error;
};

int cores_of(const KernelCode& kernel, const Machine& machine) {
  return kernel.cube ? machine.cube_cores : machine.vector_cores;
}

void run_blocks(const KernelCode& kernel, const Launch& launch, const GlobalMemory& memory, Part& part) {
  GlobalGuard guard(memory);
  BlockGroup group(kernel, launch, 1, {guard, part.traffic, part.output, nullptr});
  for (uint32_t block = part.first; block < part.first + part.count; block++) {
    group.run(block);
    part.ends.push_back(group.end(0));
    group.add_busy(part.pipe_busy_ns);
  }
}

void run_together(const KernelCode& kernel, const Launch& launch, const GlobalMemory& memory, Part& part) {
  const int cores = cores_of(kernel, launch.machine);
  if (part.count > static_cast<uint32_t>(cores)) {
    throw ExecutionError("with " + std::to_string(part.count) +
                         " blocks: they wait for each other but only " + std::to_string(cores) +
                         " run at the same time: the kernel would hang");
  }
  const int blocks = static_cast<int>(part.count);
  GlobalGuard guard(memory);
  AllBlocks all({kernel.is_mixed() ? blocks * kSubBlocks : blocks, blocks});
  BlockGroup group(kernel, launch, blocks, {guard, part.traffic, part.output, &all});
  group.run(part.first);
  for (int block = 0; block < blocks; block++) part.ends.push_back(group.end(block));
  group.add_busy(part.pipe_busy_ns);
}

// Blocks that may wait for what others write: as many at a time as there are cores. Those that come next
// start when all of these are done, which a device does core by core.
void run_in_turns(const KernelCode& kernel, const Launch& launch, const GlobalMemory& memory, Part& part) {
  const auto cores = static_cast<uint32_t>(cores_of(kernel, launch.machine));
  GlobalGuard guard(memory);
  for (uint32_t done = 0; done < part.count; done += cores) {
    const int blocks = static_cast<int>(std::min(cores, part.count - done));
    BlockGroup group(kernel, launch, blocks, {guard, part.traffic, part.output, nullptr});
    group.run(part.first + done);
    for (int block = 0; block < blocks; block++) part.ends.push_back(group.end(block));
    group.add_busy(part.pipe_busy_ns);
  }
}

void run_part(const KernelCode& kernel, const Launch& launch, const GlobalMemory& memory, Part& part) {
  try {
    if (kernel.meets_all_blocks())
      run_together(kernel, launch, memory, part);
    else if (kernel.takes_turns())
      run_in_turns(kernel, launch, memory, part);
    else
      run_blocks(kernel, launch, memory, part);
  } catch (...) {
    part.error = std::current_exception();
  }
}

std::vector<Part> parts_of(const KernelCode& kernel, uint32_t blocks) {
  const bool split = !kernel.keeps_order() && !kernel.meets_all_blocks() && !kernel.takes_turns();
  const uint32_t count = split ? std::min(blocks, kParts) : std::min(blocks, 1u);
  std::vector<Part> parts(count);
  for (uint32_t i = 0; i < count; i++) {
    parts[i].first = static_cast<uint32_t>(uint64_t{blocks} * i / count);
    parts[i].count = static_cast<uint32_t>(uint64_t{blocks} * (i + 1) / count) - parts[i].first;
  }
  return parts;
}

void run_parts(const KernelCode& kernel, const Launch& launch, const GlobalMemory& memory,
               std::vector<Part>& parts) {
  std::vector<std::thread> threads;
  for (size_t i = 1; i < parts.size(); i++) {
    try {
      threads.emplace_back([&, i] { run_part(kernel, launch, memory, parts[i]); });
    } catch (const std::system_error&) {
      break;  // no thread to be had: the rest is done here
    }
  }
  if (!parts.empty()) run_part(kernel, launch, memory, parts[0]);
  for (size_t i = threads.size() + 1; i < parts.size(); i++) run_part(kernel, launch, memory, parts[i]);
  for (std::thread& thread : threads) thread.join();
}

}  // namespace

// Blocks of a part run one after the other, in order, or take turns in a fixed way: locks between blocks and
// floating point atomics, which keep a launch in one part, then give the same result every time.
Report execute(const KernelCode& kernel, const Launch& launch, const GlobalMemory& memory) {
  if (launch.blocks > kMostBlocks) {
    throw ExecutionError("kernel '" + kernel.name + "': " + std::to_string(launch.blocks) +
                         " blocks, at most " + std::to_string(kMostBlocks) + " can be launched");
  }
  std::vector<Part> parts = parts_of(kernel, launch.blocks);
  run_parts(kernel, launch, memory, parts);
  Report report;
  Traffic traffic;
  std::vector<Cycles> cores(cores_of(kernel, launch.machine), Cycles{});
  for (Part& part : parts) {
    try {
      if (part.error) std::rethrow_exception(part.error);
    } catch (const ExecutionError& error) {
      throw ExecutionError("kernel '" + kernel.name + "' " + error.what());
    }
    for (uint32_t i = 0; i < part.count; i++) {
      Cycles& total = cores[(part.first + i) % cores.size()];
      for (int s = 0; s < kScenarios; s++)
        total[s] += cost::kBlockDispatchCycles + part.ends[i][s] + cost::kBlockEndCycles;
    }
    for (int p = 0; p < kPipes; p++) report.pipe_busy_ns[p] += part.pipe_busy_ns[p];
    traffic.merge(part.traffic);
    report.output += part.output;
  }
  Cycles longest{};
  for (const Cycles& c : cores) {
    for (int s = 0; s < kScenarios; s++) longest[s] = std::max(longest[s], c[s]);
  }
  // All cores share HBM and L2: no launch is faster than these move its data.
  const double hbm = static_cast<double>(traffic.total_missing() * cost::kL2LineBytes) /
                     launch.machine.bytes_per_cycle(launch.machine.hbm_gbs);
  const double l2 =
      static_cast<double>(traffic.total_bytes()) / launch.machine.bytes_per_cycle(cost::kL2TotalGBs);
  report.cold_ns = launch.machine.nanoseconds(cost::kLaunchCycles + std::max({longest[kCold], hbm, l2}));
  report.warm_ns = launch.machine.nanoseconds(cost::kLaunchCycles + std::max(longest[kWarm], l2));
  report.reads = traffic.reads();
  report.writes = traffic.writes();
  return report;
}

}  // namespace hivm
