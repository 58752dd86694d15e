// The keys of the hit path: a call taken apart, the way of calling that it follows, and its key.
#pragma once
#include <Python.h>

#include <array>
#include <cstddef>
#include <memory>
#include <vector>

#include "python_ref.h"

namespace tat {

// Arguments of a launch, the winner's settings, grid and warmup included; longer ones take the general path.
constexpr Py_ssize_t kMaxArguments = 126;

// Interned names, made once with the module.
struct Names {
  PyObject *active, *best_config, *cache, *configs, *data_ptr, *dict, *dtype, *fn, *general, *grid, *keys,
      *result, *run, *warmup;
};
extern Names names;
// False, with a Python exception set, if they cannot be made.
bool intern_names();

// What of an argument is in the key; the numbers are those of dispatch.py.
enum class Source : long {
  kDtype = 0,      // its dtype, whether it is None, or neither
  kValue = 1,      // its value, unless it is a tensor, which counts by its shape
  kConstexpr = 2,  // its value
  kInteger = 3,    // its value, if that is an int: what a mapping gives for it follows from it
  kOption = 4      // its text, as a compile option has it
};
constexpr long kSources = 5;

struct Part {
  Py_ssize_t place;  // in the call: positional arguments, then keywords
  Source source;
};

struct Layout;

// A call taken apart: stack[0] is left for the kernel, then positional arguments, then keywords but grid and
// warmup. All references are borrowed from the caller.
struct Call {
  std::array<PyObject*, kMaxArguments + 1> stack;
  std::array<PyObject*, kMaxArguments> keywords;
  Py_ssize_t positional = 0;
  Py_ssize_t named = 0;
  PyObject* grid = nullptr;
  PyObject* warmup = nullptr;

  // False if it is too long for us, or has a name that is not interned and so cannot be compared by identity.
  bool take(PyObject* const* args, Py_ssize_t count, PyObject* kwnames);
  bool follows(const Layout& layout) const;
};

// One way of calling a kernel: so many positional arguments, these keywords. `table`: key -> hit.
struct Layout {
  // Null, with a Python exception set, if `parts` are not ((place, source), ...) for such a call.
  static std::unique_ptr<Layout> make(const Call& call, PyObject* parts);
  // Null, with or without an exception, if only the general path can tell it.
  Ref key(const Call& call, PyObject* device) const;

  Py_ssize_t positional = 0;
  Ref keywords;  // tuple of the names, without grid and warmup
  std::vector<Part> parts;
  Ref table;
};

}  // namespace tat
