// Telling the core what a micro-kernel would have given to the pipes.
#pragma once
#include <initializer_list>

#include "hivm/micro.h"

namespace hivm::micro {

inline constexpr int64_t kLibraryEvent = 7;  // the event number that the library keeps for its own handshakes

using Views = std::initializer_list<const View*>;

// Elements as the vector unit wants them: start on a 32-byte boundary, last stride 1, rows 32 bytes apart or
// a multiple.
bool vector_addressable(const View& view);

// Cycles of vector instructions over `shape` when each element is `width` bits: the start of each instruction
// of up to 255 repeats, and the repeats themselves.
double vector_cycles(const View& shape, int width, double cycles_per_repeat);

// Work of the vector pipe on local memory.
void issue_vector(Core& core, double cycles, Views reads, Views writes);

// The scalar loop that the library falls back to: it waits for the vector pipe, and the vector pipe waits for
// it.
void issue_scalar(Core& core, int64_t elements, Views reads, Views writes);

// issue_vector if all views are addressable, else issue_scalar over the elements of `shape`.
void issue_elements(Core& core, const View& shape, int width, double cycles_per_repeat, Views reads,
                    Views writes);

}  // namespace hivm::micro
