#include "runtime/launch_cache.h"

#include <algorithm>
#include <cstdio>

#include "runtime/config.h"
#include "runtime/faults.h"
#include "runtime/soc.h"

namespace cann_sim {
namespace {

std::string key_of(int device, const Function& function, uint32_t blocks, const std::string& arguments) {
  std::string key(reinterpret_cast<const char*>(&device), sizeof device);
  key.append(reinterpret_cast<const char*>(&function.number), sizeof function.number);
  key.append(reinterpret_cast<const char*>(&blocks), sizeof blocks);
  return key + arguments;
}

}  // namespace

Effect LaunchCache::execute(int device, const Function& function, uint32_t blocks,
                            const std::string& arguments, Memory& memory) {
  const auto fail = [&](const std::string& text) {
    memory.written_anywhere();
    return DeviceError(ACL_ERROR_RT_VECTOR_CORE_EXCEPTION, "kernel " + function.entry + ": " + text);
  };
  if (faults().kernel_fails(function.entry, blocks)) throw fail("faults on demand (CANN_SIM_FAULTS)");
  if (faults().device_fails(function.entry, blocks)) {
    DeviceError lost = fail("faults on demand (CANN_SIM_FAULTS); device " + std::to_string(device) +
                            " refuses everything until it is reset");
    lost.loses_device = true;
    throw lost;
  }
  hivm::Launch launch;
  launch.entry = function.entry;
  launch.blocks = blocks;
  launch.arguments = arguments.data();
  launch.argument_bytes = static_cast<uint32_t>(arguments.size());
  launch.machine = soc().machine;
  launch.check_races = config().check_races;
  try {
    hivm::Report report = function.program->run(launch, DeviceMemory(memory, device));
    Effect effect;
    effect.cold_ns = report.cold_ns;
    effect.warm_ns = report.warm_ns;
    effect.reads = std::move(report.reads);
    effect.writes = std::move(report.writes);
    if (!report.output.empty()) {  // of device_print, which is wanted at every launch
      std::fwrite(report.output.data(), 1, report.output.size(), stdout);
      std::fflush(stdout);
      effect.repeatable = false;
    }
    std::copy(std::begin(report.pipe_busy_ns), std::end(report.pipe_busy_ns), effect.pipe_busy_ns);
    return effect;
  } catch (const std::exception& error) {
    throw fail(error.what());
  }
}

Effect LaunchCache::run(int device, const Function& function, uint32_t blocks, const std::string& arguments,
                        Memory& memory) {
  std::string key = key_of(device, function, blocks, arguments);
  const auto known = by_key_.find(key);
  if (known != by_key_.end()) {
    const auto entry = known->second;
    if (memory.signature(entry->effect.reads) == entry->read_signature &&
        memory.signature(entry->effect.writes) == entry->write_signature) {
      entries_.splice(entries_.begin(), entries_, entry);
      Effect effect = entry->effect;
      effect.reused = true;
      return effect;
    }
    entries_.erase(entry);
    by_key_.erase(known);
  }
  Entry entry;
  entry.effect = execute(device, function, blocks, arguments, memory);
  // Stamps have not moved since before the run: nothing but written() moves them, and the engine's lock is
  // held.
  entry.read_signature = memory.signature(entry.effect.reads);
  if (!entry.effect.writes.empty()) memory.written(entry.effect.writes);
  entry.write_signature = memory.signature(entry.effect.writes);
  entry.effect.stamped = true;
  if (!entry.effect.repeatable) return entry.effect;
  entry.key = std::move(key);
  entries_.push_front(std::move(entry));
  by_key_[entries_.front().key] = entries_.begin();
  if (entries_.size() > capacity_) {
    by_key_.erase(entries_.back().key);
    entries_.pop_back();
  }
  return entries_.front().effect;
}

}  // namespace cann_sim
