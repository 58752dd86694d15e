// The cost model: every constant that the simulated durations depend on, in one table.
//
// NOTHING HERE IS CALIBRATED. No value was measured on Ascend silicon; durations are plausible in their shape (what
// overlaps, what scales, cold against warm), not in their size, and every report says "simulated".
//
// Source marks at the values:
//   [P] the platform description that CANN installs for the 910B family (Ascend910B1.ini, quoted in public write-ups:
//       l2_read_rate 110, l2_write_rate 86, ub_to_l2_rate 64 bytes per cycle and core, ddr_rate 32, l2_size 201326592,
//       ub_size 196608, cube 16x16x16, cube_freq 1850) or the module attributes that the compiler prints for 910B3;
//   [D] published data sheets and programming guides (HBM 1.6 TB/s; vector instructions work on repeats of 256 bytes);
//   [A] assumed: a round number of the right order, chosen here.
// Unit "cycle" is a cycle of the core clock.
#pragma once
#include <cstdint>

namespace hivm::cost {

// ---- machine
inline constexpr double kClockGhz = 1.8;          // GHz            [A] 910B1 is described as 1.85
inline constexpr int kVectorCores = 40;           // cores          [P]
inline constexpr int kCubeCores = 20;             // cores          [P]
inline constexpr int64_t kUbBytes = 196608;       // bytes          [P] unified buffer of a vector core
inline constexpr int64_t kL1Bytes = 524288;       // bytes          [P]
inline constexpr int64_t kL0cBytes = 131072;      // bytes          [P]
inline constexpr int64_t kL2Bytes = 201326592;    // bytes          [P]
inline constexpr int64_t kL2LineBytes = 512;      // bytes          [A] granule of a miss
inline constexpr int64_t kBlockBytes = 32;        // bytes          [D] smallest piece a transfer or vector access moves

// ---- launch
inline constexpr double kLaunchCycles = 2700;         // cycles per launch             [A] 1.5 us until the first core starts
inline constexpr double kBlockDispatchCycles = 360;   // cycles per block on its core  [A]
inline constexpr double kBlockEndCycles = 90;         // cycles per block on its core  [A]

// ---- global memory, per core
inline constexpr double kL2ReadBytesPerCycle = 110;   // bytes/cycle  [P]
inline constexpr double kL2WriteBytesPerCycle = 64;   // bytes/cycle  [P] a vector core writes through ub_to_l2
inline constexpr double kHbmBytesPerCycle = 48;       // bytes/cycle  [A] what one core alone can draw; 32 [P] is its share
inline constexpr double kL2LatencyCycles = 360;       // cycles       [A] 200 ns
inline constexpr double kHbmLatencyCycles = 900;      // cycles       [A] 500 ns
inline constexpr double kTransferCycles = 40;         // cycles       [A] to start a transfer, occupies its pipe
inline constexpr double kBurstCycles = 4;             // cycles       [A] for each further row (burst) of a transfer
// ---- global memory, all cores together: a lower bound of the kernel's duration
inline constexpr double kHbmTotalGBs = 1600;          // GB/s         [D]
inline constexpr double kL2TotalGBs = 4800;           // GB/s         [P] 24 cores x 110 bytes x 1.85 GHz, rounded

// ---- scalar unit S
inline constexpr int kScalarCycles = 1;               // arithmetic, compare, select, address         [A]
inline constexpr int kScalarMultiplyCycles = 2;       // integer multiplication                       [A]
inline constexpr int kScalarDivideCycles = 16;        // integer division, remainder, sqrt, fp divide [A]
inline constexpr int kScalarFloatCycles = 4;          // fp add, multiply, conversion                 [A]
inline constexpr int kScalarBranchCycles = 3;         // loop back edge, conditional branch           [A]
inline constexpr int kScalarUbCycles = 8;             // load or store of one element in UB           [A]
inline constexpr int kScalarGmStoreCycles = 16;       // store of one element to global memory        [A] not waited for
inline constexpr int kScalarGmLoadCycles = 20;        // load from global memory, on top of latency   [A]
inline constexpr int kIssueCycles = 6;                // to hand one operation to another pipe        [A]
inline constexpr int kCallCycles = 12;                // scalar part of a micro-kernel (mask, repeat counts) [A]

// ---- flags
inline constexpr double kFlagCycles = 12;             // from set to the waiting pipe                 [A]

// ---- latency: from the end of the occupation of a pipe to the result being usable
inline constexpr double kVectorLatencyCycles = 20;    // [A]
inline constexpr double kCubeLatencyCycles = 30;      // [A]
inline constexpr double kLocalCopyLatencyCycles = 24; // [A] MTE1

// ---- vector unit V (used by the micro-kernels)
inline constexpr double kVectorBytes = 256;           // bytes of the widest operand per repeat       [D]
inline constexpr double kVectorStartCycles = 6;       // cycles per vector instruction                [A]
inline constexpr double kVectorSimpleCycles = 1;      // cycles per repeat: add, mul, max, and, compare, select, cast, copy, fill [A]
inline constexpr double kVectorDivideCycles = 4;      // cycles per repeat: divide, sqrt, rsqrt       [A]
inline constexpr double kVectorExpCycles = 4;         // cycles per repeat: exp, ln                   [A]
inline constexpr double kVectorReduceCycles = 2;      // cycles per repeat of the folding steps       [A]
inline constexpr double kVectorTransposeCycles = 4;   // cycles per repeat                            [A]
inline constexpr double kVectorGatherCycles = 16;     // cycles per repeat                            [A]
inline constexpr double kVectorSortCycles = 16;       // cycles per repeat and merge level            [A]
inline constexpr double kScalarFallbackCycles = 20;   // cycles per element where a micro-kernel runs as a scalar loop [A]

// ---- cube unit and its transfers (cube cores come later)
inline constexpr double kCubeMacsPerCycle = 4096;     // fp16 multiply-adds per cycle                 [P]
inline constexpr double kL1ToL0aBytesPerCycle = 512;  // bytes/cycle  [P]
inline constexpr double kL1ToL0bBytesPerCycle = 256;  // bytes/cycle  [P]

constexpr double nanoseconds(double cycles) { return cycles / kClockGhz; }
constexpr double bytes_per_cycle(double gigabytes_per_second) { return gigabytes_per_second / kClockGhz; }

}  // namespace hivm::cost
