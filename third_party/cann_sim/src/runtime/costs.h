// Every number that the simulated time of the runtime is made of. None is calibrated against a device:
// "assumed" numbers are of a plausible order of magnitude, the others say where they come from. What happens
// inside a kernel is timed by the HIVM cost table, not here.
#pragma once
#include <cstdint>

namespace cann_sim::costs {

// ---- host: what a call costs the calling thread. Queries, creations and allocations are free, so that their
// interleaving between the Python thread and torch_npu's queue thread cannot change any time.
inline constexpr int64_t kHostLaunchNs = 5'000;  // kernel or operator launch; assumed
inline constexpr int64_t kHostSubmitNs = 1'000;  // event, notify, value, async copy or fill; assumed
inline constexpr int64_t kHostSyncNs = 2'000;    // waking up after a synchronise; assumed
// A query that answers "not ready" costs this, or a loop that polls would never see time pass. Assumed.
inline constexpr int64_t kHostPollNs = 500;

// ---- device: from the moment a task could start until it does (task scheduler, fetching arguments);
// assumed.
inline constexpr int64_t kKernelStartNs =
    500;  // the cost table of HIVM adds the time until the first core runs
inline constexpr int64_t kOperatorStartNs = 2'000;
inline constexpr int64_t kCopyStartNs = 1'000;
inline constexpr int64_t kMarkStartNs = 100;  // events, notifies, values

// ---- memory
inline constexpr double kHbmShare = 0.8;  // of the HBM's bandwidth (soc.cpp) that one task reaches; assumed
inline constexpr double kL2BytesPerNs = 4800;  // as in the cost table of HIVM
inline constexpr double kHostLinkBytesPerNs =
    25;                                        // PCIe 4.0 x16 after protocol overhead: about 25 of 31.5 GB/s
inline constexpr uint64_t kL2LineBytes = 512;  // assumed; only rounds ranges outwards
// HCCS between two devices of one server: the 392 GB/s that are published for the seven links of a 910B, both
// directions together.
inline constexpr double kDeviceLinkBytesPerNs = 392.0 / 7 / 2;

// ---- limits
inline constexpr size_t kStreamDepth =
    2'048;  // tasks that a waiting stream takes before submission fails; assumed
// Virtual time after which a synchronise without a limit gives up on a stream that nothing can release.
// Assumed.
inline constexpr int64_t kHangNs = 60'000'000'000;
inline constexpr size_t kLaunchCacheEntries = 256;

}  // namespace cann_sim::costs
