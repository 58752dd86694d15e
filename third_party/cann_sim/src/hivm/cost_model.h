// The cost model: the constants that the simulated durations depend on, in one table (what a vector
// instruction of each micro-kernel takes is built from these in micro/vector_costs.h).
//
// NOTHING HERE IS CALIBRATED. No value was measured on Ascend silicon; durations are plausible in their shape
// (what overlaps, what scales, cold against warm), not in their size, and every report says "simulated".
//
// Marks of the source:
//   [P] the platform description that CANN installs for the 910B family (Ascend910B1.ini, quoted in public
//   write-ups:
//       l2_read_rate 110, l2_write_rate 86, ub_to_l2_rate 64 bytes per cycle and core, ddr_rate 32,
//       l2_size 201326592, ub_size 196608, cube_freq 1850), or the attributes that the compiler prints for
//       910B3;
//   [D] published data sheets and programming guides;
//   [A] assumed: a round number of the right order, chosen here.
// "cycles" are cycles of the core clock.
#pragma once
#include <cstdint>

namespace hivm::cost {

// clang-format off
// ---- machine
// cores, clock and HBM of a part: Machine in kernel.h; the parts with their sources: runtime/soc.cpp
inline constexpr int64_t kUbBytes = 196608;            // bytes        [P] unified buffer of a vector core
inline constexpr int64_t kL1Bytes = 524288;            // bytes        [P] of a cube core
inline constexpr int64_t kL0cBytes = 131072;           // bytes        [P] of a cube core
inline constexpr int64_t kL2LineBytes = 512;           // bytes        [A] granule of a miss
inline constexpr int64_t kBlockBytes = 32;             // bytes        [D] smallest piece of a transfer or vector access

// ---- launch
inline constexpr double kLaunchCycles = 2700;          // cycles       [A] 1.5 us until the first core starts
inline constexpr double kBlockDispatchCycles = 360;    // cycles       [A] before each block on its core
inline constexpr double kBlockEndCycles = 90;          // cycles       [A] after each block

// ---- global memory, one core
inline constexpr double kL2ReadBytesPerCycle = 110;    // bytes/cycle  [P]
inline constexpr double kL2WriteBytesPerCycle = 64;    // bytes/cycle  [P] a vector core writes through ub_to_l2
inline constexpr double kFixL2WriteBytesPerCycle = 86; // bytes/cycle  [P] a cube core writes with l2_write_rate
inline constexpr double kHbmBytesPerCycle = 48;        // bytes/cycle  [A] what one core alone can draw; its share is 32 [P]
inline constexpr double kL2LatencyCycles = 360;        // cycles       [A] 200 ns
inline constexpr double kHbmLatencyCycles = 900;       // cycles       [A] 500 ns
inline constexpr double kTransferCycles = 40;          // cycles       [A] start of a transfer, occupies its pipe
inline constexpr double kBurstCycles = 4;              // cycles       [A] each further row (burst) of a transfer
// ---- global memory, all cores together: a lower bound of a launch
inline constexpr double kL2TotalGBs = 4800;            // GB/s         [P] 24 cores x 110 bytes x 1.85 GHz, rounded

// ---- scalar unit S
inline constexpr int kScalarCycles = 1;                // cycles       [A] arithmetic, compare, select, address
inline constexpr int kScalarMultiplyCycles = 2;        // cycles       [A] integer multiplication
inline constexpr int kScalarDivideCycles = 16;         // cycles       [A] integer division, sqrt, float division
inline constexpr int kScalarFloatCycles = 4;           // cycles       [A] float addition, multiplication, conversion
inline constexpr int kScalarBranchCycles = 3;          // cycles       [A] loop back edge, conditional branch
inline constexpr int kScalarUbCycles = 8;              // cycles       [A] load or store of one element in UB
inline constexpr int kScalarGmStoreCycles = 16;        // cycles       [A] store to global memory, not waited for
inline constexpr int kScalarGmLoadCycles = 20;         // cycles       [A] load from global memory, besides the latency
inline constexpr int kIssueCycles = 6;                 // cycles       [A] to hand an operation to another pipe
inline constexpr int kCallCycles = 12;                 // cycles       [A] scalar part of a micro-kernel (repeats, masks)
inline constexpr double kFlagCycles = 12;              // cycles       [A] from set_flag to the waiting pipe
inline constexpr double kBlockFlagCycles = 180;        // cycles       [A] 100 ns from sync_block_set to another core
inline constexpr int    kBlockFlagCount = 15;          // counts       [D] what a flag between cores can hold

// ---- vector unit V
inline constexpr double kVectorBytes = 256;            // bytes        [D] of the widest operand in one repeat
inline constexpr double kVectorLatencyCycles = 20;     // cycles       [A] from the last repeat to the usable result
inline constexpr double kVectorStartCycles = 6;        // cycles       [A] for each vector instruction
inline constexpr double kVectorSimpleCycles = 1;       // cycles per repeat  [A] add, max, and, compare, cast, copy, fill
inline constexpr double kVectorDivideCycles = 4;       // cycles per repeat  [A] divide, sqrt, rsqrt
inline constexpr double kVectorExpCycles = 4;          // cycles per repeat  [A] exp, ln
inline constexpr double kVectorReduceCycles = 2;       // cycles per repeat  [A] folding steps of a reduction
inline constexpr double kVectorTransposeCycles = 4;    // cycles per repeat  [A]
inline constexpr double kVectorGatherCycles = 16;      // cycles per repeat  [A]
inline constexpr double kVectorSortCycles = 16;        // cycles per repeat and merge level  [A]
inline constexpr double kScalarFallbackCycles = 20;    // cycles per element [A] where a micro-kernel is a scalar loop

// ---- cube core: pipes MTE1, M and FIX. One step of the matrix unit is a 16 x c x 16 product per cycle, c x size = 32 bytes
//      for 8 and 16 bits; the rates in micro/cube_costs.h are derived from it.
inline constexpr double kL1ToL0aBytesPerCycle = 512;   // bytes/cycle  [A] L1 -> L0A
inline constexpr double kL1ToL0bBytesPerCycle = 256;   // bytes/cycle  [A] L1 -> L0B
inline constexpr double kMte1StartCycles = 20;         // cycles       [A] start of a transfer to L0A or L0B
inline constexpr double kMte1LatencyCycles = 30;       // cycles       [A] until the matrix unit sees it
inline constexpr double kMadStartCycles = 16;          // cycles       [A] start of a matrix instruction
inline constexpr double kMadLatencyCycles = 40;        // cycles       [A] until its result is complete in L0C
inline constexpr double kFixBytesPerCycle = 128;       // bytes/cycle  [A] L0C read and converted by the fixpipe
inline constexpr double kFixLatencyCycles = 60;        // cycles       [A] way through the fixpipe
inline constexpr double kL1FillBytesPerCycle = 128;    // bytes/cycle  [A] set_l1: L1 filled with a value
// clang-format on

}  // namespace hivm::cost
