// The hit path of a tuner: one key, one lookup, one launch, without going through Python code of ours.
//
// `Hits` belongs to one tuner's plan. It knows, for the ways in which the kernel has been called (how many
// positional arguments, which keywords: a Layout), the calls that have a winner already. Everything it knows
// it was taught by the general path (triton_ascend_tune/dispatch.py) after a launch of the same call, and
// whatever it is not sure of it hands back to the general path, which stays the reference.
#pragma once
#include <Python.h>

namespace tat {

// Adds the types `Hits` and `Launch` to a module. False, with a Python exception set, if that fails.
bool add_dispatch(PyObject* module);

}  // namespace tat
