// The executable form of one entry function: a flat list of instructions over numbered slots.
//
// Every SSA value has its own slot (casts that change nothing share one), so that everything is resolved when
// the module is loaded. Values known then are computed then: their slots are filled from `Code::scalars` and
// `Code::views` at each launch.
#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "hivm/core_kind.h"
#include "hivm/ir.h"
#include "hivm/micro.h"
#include "hivm/view.h"

namespace hivm {

class ExecutionCore;
struct Code;
struct Instruction;

union Scalar {
  int64_t i;
  double f;
};

// What the cores that run together may do before they count as hanging, in steps of a bounded loop. Trips of
// an unbounded one and calls of micro-kernels take the host about so many times as long. A few seconds.
inline constexpr int64_t kMostSteps = int64_t{1} << 30;
inline constexpr int64_t kStepsOfTrip = 16, kStepsOfCall = 128;
// Trips of an unbounded loop after which the other blocks go on: it may wait for what they write.
inline constexpr int kTripsOfTurn = 64;

// What one block sees while it runs.
struct Frame {
  const Code* code = nullptr;
  std::vector<Scalar> scalars;
  std::vector<View> views;
  std::vector<std::vector<Argument>> calls;  // arguments of each call site; constants are already in place
  ExecutionCore* core = nullptr;
  const Instruction* waiting = nullptr;  // stopped here until another core of the block has run
  int64_t cycles = 0;                    // spent on the scalar unit since the core was last told
  int64_t steps_left = 0;                // see kMostSteps
  int trips_left = 0;                    // see kTripsOfTurn
  bool check_races = false;
};

// Executes an instruction and returns the next one; nullptr at the end of the function, and where the core
// has to wait for another one (Frame::waiting).
using Step = const Instruction* (*)(const Instruction*, Frame&);

struct Instruction {
  Step step = nullptr;
  int32_t cycles = 0;                   // on the scalar unit
  int32_t line = 0;                     // in the module's text
  uint32_t a = 0, b = 0, c = 0, d = 0;  // slots, or an index into one of Code's tables
  int64_t extra = 0;
};

using Slots = std::array<uint32_t, kMaxRank>;

// memref.subview, reinterpret_cast, expand_shape, view, pointer_cast, load and store: scalar slots for each
// dimension.
struct ViewRecipe {
  Slots offsets{}, sizes{}, strides{};
  std::array<uint8_t, kMaxRank> dimensions{};  // of the source; for subview: those that stay
  uint8_t rank = 0;                            // of the source, or number of indices
  uint8_t kept = 0;                            // rank of the result
  Element element = Element::I8;
  Space space = Space::Gm;
};

// memref.collapse_shape: group g covers the source dimensions [ends[g - 1], ends[g]).
struct CollapseRecipe {
  std::array<uint8_t, kMaxRank> ends{};
  uint8_t groups = 0;
};

struct CallSite {
  std::shared_ptr<const MicroKernel> kernel;
  std::string name;
  struct Source {
    uint32_t slot = 0;
    bool is_view = false;
    bool is_float = false;
    bool constant = false;
  };
  std::vector<Source> arguments;
};

// Parameter k of the entry function and the slot that receives it.
struct CodeParameter {
  ir::Type type;
  uint32_t slot = 0;
};

struct Code {
  std::string entry;  // the function's name
  CoreKind core = CoreKind::Vector;
  bool meets_all_blocks = false;  // waits for other blocks, which must then run at the same time
  bool keeps_order = false;       // what it does depends on the blocks before: locks, atomics, debug output
  bool locks = false;             // blocks pass in order
  bool unbounded = false;         // has loops that may wait for what other blocks write
  std::vector<CodeParameter> parameters;
  std::vector<Instruction> instructions;
  std::vector<ViewRecipe> recipes;
  std::vector<CollapseRecipe> collapses;
  std::vector<CallSite> calls;
  std::vector<std::string> texts;  // what device_print puts before its values
  std::vector<Scalar> scalars;
  std::vector<View> views;               // views on local memory hold the byte address as their base
  std::vector<uint32_t> local_views;     // slots of `views` whose base is such an address
  std::array<int64_t, 4> local_bytes{};  // by Space: how much local memory the function addresses
};

// A kernel: the function for vector cores, the one for cube cores, or both, which then run each block
// together on a cube core and two vector cores.
struct KernelCode {
  std::string name;
  std::shared_ptr<const Code> vector, cube;

  bool is_mixed() const { return vector && cube; }
  const Code& any() const { return vector ? *vector : *cube; }
  bool meets_all_blocks() const { return has(&Code::meets_all_blocks); }
  bool keeps_order() const { return has(&Code::keeps_order); }
  // Whether blocks may wait for later ones: with locks they cannot.
  bool takes_turns() const { return has(&Code::unbounded) && !has(&Code::locks); }

 private:
  bool has(bool Code::* property) const {
    return (vector && (*vector).*property) || (cube && (*cube).*property);
  }
};

}  // namespace hivm
