// The boundary between the executor and the library of micro-kernels (hivm/micro/*.cpp).
//
// A micro-kernel is found once, when the module is loaded, by its name ("vadd_2d_float"); the lookup parses
// family, rank and types and returns a function specialised for them. The executor calls it with the decoded
// arguments; it computes on memory at once and tells the core what the hardware would have been given to do
// (issue), which is all that timing and race detection see.
#pragma once
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "hivm/view.h"

namespace hivm {

enum class Pipe : uint8_t { S, V, M, Mte1, Mte2, Mte3, Fix, All };
inline constexpr int kPipes = 7;  // without All

// One argument: a view, or a scalar that is already rounded to its type (integers sign-extended in
// `integer`).
struct Argument {
  View view;
  int64_t integer = 0;
  double real = 0;
  bool is_view = false;
};

// What a pipe is given. `cycles`: how long it is busy, without waiting for global memory.
// `gm_read`/`gm_write`: the view in global memory that it moves (nullptr: none): the core adds the time of
// the transfer, which depends on L2.
struct Work {
  Pipe pipe = Pipe::V;
  double cycles = 0;
  const View* reads[3] = {};
  const View* writes[2] = {};
  const View* gm_read = nullptr;
  const View* gm_write = nullptr;
  // The unit flag of the hardware: this starts when all of that pipe's work is complete. All: not used.
  Pipe unit_flag = Pipe::All;
};

// The core as micro-kernels see it. Implemented by the executor (and by tests).
class Core {
 public:
  virtual ~Core() = default;
  // Throws ExecutionError when a global view lies outside all allocations.
  virtual void check_global(const View& view) = 0;
  virtual void issue(const Work& work) = 0;
  virtual void set_flag(Pipe source, Pipe target, int64_t event) = 0;
  virtual void wait_flag(Pipe source, Pipe target, int64_t event) = 0;
  virtual void barrier(Pipe pipe) = 0;
  virtual int64_t block_index() const = 0;
  // A line of debug output: a text of the module, by number, and values.
  virtual void print(int64_t text, const std::string& values) = 0;
};

struct MicroKernel {
  virtual ~MicroKernel() = default;
  virtual void run(Core& core, const std::vector<Argument>& arguments) const = 0;
  // Whether what a call does may depend on the blocks before (lock, atomic, output), so that blocks have to
  // be executed in order. `integers`: the integer arguments, by position, as far as they are known
  // beforehand.
  virtual bool keeps_order(const std::vector<std::optional<int64_t>>& integers) const {
    (void)integers;
    return false;
  }
};

// nullptr when the name is of no known family, or of a known family with a type or rank that is not
// supported.
std::shared_ptr<const MicroKernel> find_micro_kernel(std::string_view name);

// One row per supported family: pattern, pipe, types, ranks (for hivmc's messages and the generated table in
// the README).
struct MicroFamily {
  std::string pattern, pipe, types, ranks;
};
const std::vector<MicroFamily>& micro_families();

class CompileError : public std::runtime_error {
  using runtime_error::runtime_error;
};
class ExecutionError : public std::runtime_error {
  using runtime_error::runtime_error;
};

}  // namespace hivm
