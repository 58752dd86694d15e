#include <string>

#include "hivm/execution_core.h"
#include "hivm/steps.h"
#include "hivm/view_check.h"

namespace hivm::step {
namespace {

[[noreturn]] void bad(Next p, const std::string& what) {
  throw ExecutionError("line " + std::to_string(p->line) + ": " + what);
}

// A kernel that never ends would hang the host as well.
void count_steps(Next p, Frame& f, int64_t steps) {
  f.steps_left -= steps;
  if (f.steps_left < 0) bad(p, "the kernel runs for too many loop iterations: it would hang");
}

std::string text_of(const View& v) {
  std::string text = std::string(space_name(v.space)) + " offset " + std::to_string(v.offset) + " sizes [";
  for (int d = 0; d < v.rank; d++) text += (d ? ", " : "") + std::to_string(v.sizes[d]);
  text += "] strides [";
  for (int d = 0; d < v.rank; d++) text += (d ? ", " : "") + std::to_string(v.strides[d]);
  return text + "]";
}

// Every view that a micro-kernel is given lies inside its memory, whatever the micro-kernel checks or
// touches.
void check_view(Frame& f, const View& v) {
  if (!is_sane(v)) throw ExecutionError("impossible view " + text_of(v));
  const int64_t width = bytes_of(v.element);
  if (width && reinterpret_cast<uint64_t>(v.base) % static_cast<uint64_t>(width) != 0) {
    throw ExecutionError(text_of(v) + " does not start at a multiple of its element size");
  }
  if (v.space == Space::Gm) {
    f.core->check_global(v);
    return;
  }
  const Extent extent = extent_of(v);
  if (extent.begin == extent.end) return;
  const std::byte* start = f.core->local_memory(v.space);
  if (extent.begin < start || extent.end > start + f.core->local_bytes(v.space)) {
    throw ExecutionError(text_of(v) + " at byte " + std::to_string(v.base - start) +
                         " lies outside of the memory");
  }
}

void flush_cycles(Frame& f) {
  f.core->spend(f.cycles);
  f.cycles = 0;
}

int64_t event_of(Next p, Frame& f) { return f.scalars[p->c].i; }

}  // namespace

Next jump(Next p, Frame&) { return p + p->extra; }

Next jump_unless(Next p, Frame& f) { return f.scalars[p->a].i ? p + 1 : p + p->extra; }

Next move_scalar(Next p, Frame& f) {
  f.scalars[p->d] = f.scalars[p->a];
  return p + 1;
}

Next move_view(Next p, Frame& f) {
  f.views[p->d] = f.views[p->a];
  return p + 1;
}

Next for_begin(Next p, Frame& f) {
  if (f.scalars[p->d].i <= 0) bad(p, "scf.for with the step " + std::to_string(f.scalars[p->d].i));
  f.scalars[p->a] = f.scalars[p->b];
  return f.scalars[p->a].i < f.scalars[p->c].i ? p + 1 : p + p->extra;
}

Next for_next(Next p, Frame& f) {
  count_steps(p, f, 1);
  int64_t& i = f.scalars[p->a].i;
  if (__builtin_add_overflow(i, f.scalars[p->d].i, &i) || i >= f.scalars[p->c].i) return p + 1;
  return p + p->extra;
}

Next loop_back(Next p, Frame& f) {
  count_steps(p, f, kStepsOfTrip);
  if (--f.trips_left > 0) return p + p->extra;
  f.waiting = p + p->extra;
  return nullptr;
}

Next stop(Next, Frame& f) {
  flush_cycles(f);
  return nullptr;
}

Next call(Next p, Frame& f) {
  const CallSite& site = f.code->calls[p->extra];
  std::vector<Argument>& arguments = f.calls[p->extra];
  for (size_t i = 0; i < site.arguments.size(); i++) {
    const CallSite::Source& source = site.arguments[i];
    Argument& argument = arguments[i];
    if (source.is_view) {
      if (!source.constant) argument.view = f.views[source.slot];
    } else if (!source.constant) {
      if (source.is_float)
        argument.real = f.scalars[source.slot].f;
      else
        argument.integer = f.scalars[source.slot].i;
    }
  }
  flush_cycles(f);
  try {
    for (const Argument& argument : arguments) {
      if (argument.is_view) check_view(f, argument.view);
    }
    if (f.check_races) f.core->enter(site.name, p->line);
    f.steps_left -= kStepsOfCall;
    site.kernel->run(*f.core, arguments);
  } catch (const ExecutionError& error) {
    const std::string what = error.what();
    const bool named = what.compare(0, site.name.size(), site.name) == 0;
    bad(p, named ? "micro-kernel " + what : "micro-kernel " + site.name + ": " + what);
  }
  return p + 1;
}

Next block_index(Next p, Frame& f) {
  f.scalars[p->d].i = f.core->block_index();
  return p + 1;
}

Next sub_block_index(Next p, Frame& f) {
  f.scalars[p->d].i = f.core->sub_block_index();
  return p + 1;
}

Next set_block_flag(Next p, Frame& f) {
  flush_cycles(f);
  try {
    f.core->set_block_flag(static_cast<Pipe>(p->a), event_of(p, f), p->extra != 0);
  } catch (const ExecutionError& error) {
    bad(p, error.what());
  }
  return p + 1;
}

Next wait_block_flag(Next p, Frame& f) {
  flush_cycles(f);
  bool set = false;
  try {
    set = f.core->wait_block_flag(static_cast<Pipe>(p->b), event_of(p, f), p->extra != 0);
  } catch (const ExecutionError& error) {
    bad(p, error.what());
  }
  if (set) return p + 1;
  f.cycles = -p->cycles;  // counted again when it is tried again
  f.waiting = p;
  return nullptr;
}

Next set_flag(Next p, Frame& f) {
  flush_cycles(f);
  try {
    f.core->set_flag(static_cast<Pipe>(p->a), static_cast<Pipe>(p->b), event_of(p, f));
  } catch (const ExecutionError& error) {
    bad(p, error.what());
  }
  return p + 1;
}

Next wait_flag(Next p, Frame& f) {
  flush_cycles(f);
  try {
    f.core->wait_flag(static_cast<Pipe>(p->a), static_cast<Pipe>(p->b), event_of(p, f));
  } catch (const ExecutionError& error) {
    bad(p, error.what());
  }
  return p + 1;
}

Next barrier(Next p, Frame& f) {
  flush_cycles(f);
  f.core->barrier(static_cast<Pipe>(p->a));
  return p + 1;
}

}  // namespace hivm::step
