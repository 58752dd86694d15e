// What the vector core's micro-kernels cost beyond the table in hivm/cost_model.h, which holds the rates per
// repeat, per instruction, per burst and per scalar element that are used here too.
//
// Sources: "library" = read from the instruction sequences in the micro-kernel bitcode of the
// ascendnpu-ir 1.2.0 wheel (what is issued, not what it costs); "assumed" = chosen to be plausible, not
// calibrated against any device. Cycles are those of the core clock.
//
// | constant               | value | unit             | source  | what it stands for |
// |------------------------|-------|------------------|---------|--------------------------------------------------------|
// | kMaxRepeats            |   255 | repeats          | library | longest vector instruction | |
// kScalarReadbackCycles  |    40 | cycles           | assumed | result of a whole reduction fetched by the
// scalar unit | | kAtomicBurstCycles     |     8 | cycles per burst | assumed | read-modify-write at the
// memory side                   | | kLocalCopyBytes        |    64 | bytes per cycle  | assumed |
// MOV.UB.TO.UB                                           | | kLockPollCycles        |   100 | cycles |
// assumed | reading or writing a lock cell past the caches         |
#pragma once
#include <cstdint>

namespace hivm::cost {

inline constexpr int64_t kMaxRepeats = 255;
inline constexpr double kScalarReadbackCycles = 40;
inline constexpr double kAtomicBurstCycles = 8;
inline constexpr double kLocalCopyBytes = 64;
inline constexpr double kLockPollCycles = 100;

}  // namespace hivm::cost
