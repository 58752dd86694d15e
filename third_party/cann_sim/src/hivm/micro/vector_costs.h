// What the vector core's micro-kernels cost beyond the table in hivm/cost_model.h, which holds the rates per
// repeat, per instruction, per burst and per scalar element that are used here too.
//
// Source marks at the values:
//   [L] read from the instruction sequences in the micro-kernel bitcode of the ascendnpu-ir 1.2.0 wheel: what
//   is
//       issued, not what it costs;
//   [A] assumed: plausible, not calibrated against any device.
// Unit "cycle" is a cycle of the core clock.
#pragma once
#include <cstdint>

namespace hivm::cost {

inline constexpr int64_t kMaxRepeats = 255;          // repeats       [L] longest vector instruction
inline constexpr double kScalarReadbackCycles = 40;  // cycles        [A] a reduction's result fetched by S
inline constexpr double kLocalCopyBytes = 64;        // bytes/cycle   [A] MOV.UB.TO.UB
inline constexpr double kLockPollCycles = 100;  // cycles        [A] a lock cell read or written past caches

}  // namespace hivm::cost
