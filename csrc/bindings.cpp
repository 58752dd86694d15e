// The Python module triton_ascend_tune._native.
#include <nanobind/nanobind.h>

NB_MODULE(_native, m) { m.doc() = "Native measuring loop of triton-ascend-tune."; }
