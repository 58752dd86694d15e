// The calls of a tuner that are hits: found, checked and launched.
#pragma once
#include <Python.h>

#include <cstddef>
#include <memory>
#include <vector>

#include "hit_key.h"

namespace tat {

// A hit is a tuple, made by dispatch.py. What is valid only as long as nobody has edited the config is
// compared by identity with what it was.
enum Field : Py_ssize_t {
  kKey,         // of the winner in the tuner's cache
  kConfig,      // the winner
  kAttributes,  // name, value, name, value, ... of vars(config)
  kSettings,    // config.kwargs
  kItems,       // name, value, ... of config.kwargs
  kNames,       // of the launch's keywords: the call's, grid, warmup, the winner's settings
  kValues,      // of the winner's settings
  kRule,        // what must hold of tuner.configs, see Rule
  kFields
};
enum class Rule : long { kAny = 0, kSeveral = 1, kLone = 2 };

struct Hits {
  PyObject ob_base;
  vectorcallfunc vectorcall;
  PyObject* driver;          // Triton's driver configuration
  PyObject* active;          // its active driver, for which everything here holds
  PyObject* current_device;  // () -> that driver's current device
  PyObject* keys;            // the tuner's `keys`
  PyObject* run;             // the function that the tuner's `run` must be
  PyObject* subscript;       // the stock __getitem__
  PyObject* touch;           // called with the key of each winner that is used, unless None
  PyObject* kernel;          // type of the last kernel that was no promise
  // Only ever appended to, within the reserved capacity, so that a layout stays where it is.
  std::vector<std::unique_ptr<Layout>>* layouts;
};

// What tuner[grid] returns.
struct Launch {
  PyObject ob_base;
  vectorcallfunc vectorcall;
  PyObject* hits;
  PyObject* tuner;
  PyObject* grid;
};

inline PyObject* field(PyObject* hit, Field which) { return PyTuple_GET_ITEM(hit, which); }

// The layout that `call` follows, or null.
Layout* layout_of(const Hits& hits, const Call& call);

// Clears the exception of something that the general path will do again, and then raise in its own words.
// False for those that are not about the call, such as an interrupt.
bool leave_to_general();

// hits(tuner, *args, grid=..., warmup=..., **keywords): what tuner.run does.
PyObject* call_hits(PyObject* self, PyObject* const* args, std::size_t nargsf, PyObject* kwnames);

// tuner[grid](*args, **keywords). As in the stock tuner it goes through `run`, if that is not ours.
PyObject* call_launch(PyObject* self, PyObject* const* args, std::size_t nargsf, PyObject* kwnames);

}  // namespace tat
