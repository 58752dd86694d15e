#include "runtime/soc.h"

#include "runtime/config.h"

namespace cann_sim {
namespace {

constexpr uint64_t kMib = 1ull << 20, kGib = 1ull << 30;

// Where the numbers come from:
// * cores: what `bishengir-compile --target=<name>` of ascendnpu-ir 1.2.0 attaches to a module
//   (dlti.target_device_spec: CUBE_CORE_COUNT, VECTOR_CORE_COUNT). It gives 192 KiB of unified buffer, 512
//   KiB of L1, 64 KiB of L0A and L0B and 128 KiB of L0C for every part of this table, so those are constants
//   elsewhere.
// * clock, memory, L2 of 910B1, 910B2, 910B4, 910_9382 and the L2 of 910_9392: CANN's
// platform_config/<name>.ini
//   (cube_freq, memory_size, l2_size), as quoted in public repositories. 910B3: its npu-smi report (1800 MHz,
//   65536 MB) and the 192 MiB that triton-ascend clears between runs. Memory of 910_9392: a public device
//   query (61.27 GB usable).
// * HBM: 1.6 TB/s is published for the 64 GB parts.
// * "assumed" below: no source was found; the value is that of the part which public device tables pair with
// it.
constexpr Soc kSocs[] = {
    // name            {cube, vector, GHz, HBM GB/s}  memory    L2
    {"Ascend910B1", {24, 48, 1.85, 1600}, 64 * kGib, 192 * kMib},
    {"Ascend910B2", {24, 48, 1.80, 1600}, 64 * kGib, 192 * kMib},
    {"Ascend910B3", {20, 40, 1.80, 1600}, 64 * kGib, 192 * kMib},
    {"Ascend910B4",
     {20, 40, 1.50, 800},
     32 * kGib,
     96 * kMib},  // HBM assumed: half the memory, half the rate
    {"Ascend910_9362", {20, 40, 1.50, 800}, 32 * kGib, 96 * kMib},    // all but the cores assumed, as 910B4
    {"Ascend910_9372", {20, 40, 1.80, 1600}, 64 * kGib, 192 * kMib},  // all but the cores assumed, as 910B3
    {"Ascend910_9381",
     {24, 48, 1.80, 1600},
     64 * kGib,
     192 * kMib},  // all but the cores assumed, as 910_9382
    {"Ascend910_9382", {24, 48, 1.80, 1600}, 64 * kGib, 192 * kMib},
    {"Ascend910_9391",
     {24, 48, 1.85, 1600},
     64 * kGib,
     192 * kMib},  // all but the cores assumed, as 910_9392
    {"Ascend910_9392", {24, 48, 1.85, 1600}, 64 * kGib, 192 * kMib},  // clock assumed, as 910B1
};

constexpr std::string_view kPrefix = "Ascend";

}  // namespace

const Soc* find_soc(std::string_view name) {
  for (const Soc& soc : kSocs) {
    const std::string_view full = soc.name;
    if (name == full || name == full.substr(kPrefix.size())) return &soc;
  }
  return nullptr;
}

std::string soc_names() {
  std::string names;
  for (const Soc& soc : kSocs) names += (names.empty() ? "" : ", ") + std::string(soc.name);
  return names;
}

const Soc& soc() {
  static const Soc* const once = find_soc(config().soc);
  return *once;
}

}  // namespace cann_sim
