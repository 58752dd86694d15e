// What the runtime sees of a compiled kernel: load an object, run a launch, learn its duration.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "hivm/micro.h"

namespace hivm {

// Global memory as a launch may touch it; implemented by the runtime's allocator and by tests.
class GlobalMemory {
 public:
  virtual ~GlobalMemory() = default;
  // Whether [begin, end) lies inside one live allocation.
  virtual bool contains(const void* begin, const void* end) const = 0;
};

struct Range {
  uint64_t begin = 0, end = 0;  // addresses, end excluded
};

// What parts differ in, as far as a launch's duration depends on it; by default the Ascend 910B3.
struct Machine {
  int cube_cores = 20, vector_cores = 40;
  double clock_ghz = 1.8;
  double hbm_gbs = 1600;  // GB/s, all cores together

  constexpr double nanoseconds(double cycles) const { return cycles / clock_ghz; }
  constexpr double bytes_per_cycle(double gigabytes_per_second) const {
    return gigabytes_per_second / clock_ghz;
  }
};

struct Launch {
  std::string entry;  // the name given to rtFunctionRegister: "<kernel>", also for a mixed pair
  uint32_t blocks = 0;
  const void* arguments = nullptr;  // the packed argument struct
  uint32_t argument_bytes = 0;
  Machine machine;
  bool check_races = false;  // fail where nothing orders two accesses to local memory; slow
};

// Durations are those of the device alone, without what the stream adds for starting a task.
struct Report {
  double cold_ns = 0;  // every first touch of global memory misses L2
  double warm_ns = 0;  // every touch hits
  // Global memory touched, merged, sorted. Writes are exact; reads may have gaps of up to 512 bytes filled.
  std::vector<Range> reads, writes;
  double pipe_busy_ns[kPipes] = {};  // summed over cores; for the profiler's columns
  std::string output;                // lines that the kernel printed, in the order of its blocks
};

class Program {
 public:
  virtual ~Program() = default;
  // Executes all blocks on host memory. Throws ExecutionError (bad address, hang, unknown entry); memory is
  // then undefined.
  virtual Report run(const Launch& launch, const GlobalMemory& memory) const = 0;
};

// Reads what hivmc wrote. Throws CompileError on foreign or damaged bytes.
std::shared_ptr<const Program> load_program(std::string_view object);

// Compiles module text into an object. Throws CompileError that names the operation or micro-kernel and its
// line.
std::string compile_module(std::string_view text);

// The constant-returning host functions of a module ("<kernel>_infer_task_type_function" -> 10, ...), in
// order.
struct HostConstant {
  std::string name;
  int64_t value = 0;
};
std::vector<HostConstant> host_constants(std::string_view text);

}  // namespace hivm
