#include <string>

#include "hivm/execution_core.h"
#include "hivm/scalar.h"
#include "hivm/steps.h"
#include "hivm/view_check.h"

namespace hivm::step {
namespace {

// Offsets and strides may be anything a kernel computes; wrap-around keeps that defined until the bounds
// check rejects it.
int64_t multiply(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}
int64_t add(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}

[[noreturn]] void bad(Next p, const std::string& what) {
  throw ExecutionError("line " + std::to_string(p->line) + ": " + what);
}

int64_t size_at(Next p, Frame& f, uint32_t slot) {
  const int64_t size = f.scalars[slot].i;
  if (size < 0) bad(p, "a view with the negative size " + std::to_string(size));
  return size;
}

void row_major(View& v) {
  int64_t stride = 1;
  for (int d = v.rank - 1; d >= 0; d--) {
    v.strides[d] = stride;
    stride = multiply(stride, v.sizes[d]);
  }
}

int64_t element_offset(const View& v, const ViewRecipe& r, const Frame& f) {
  int64_t offset = v.offset;
  for (int d = 0; d < r.rank; d++) offset = add(offset, multiply(f.scalars[r.offsets[d]].i, v.strides[d]));
  return offset;
}

// The byte that holds the element, checked. Global accesses cost time that depends on L2, so the core takes
// them.
template <bool kStore>
std::byte* element_at(Next p, Frame& f, int64_t& bit) {
  const View& v = f.views[p->a];
  const int64_t offset = element_offset(v, f.code->recipes[p->extra], f);
  const int64_t width = bytes_of(v.element);
  bit = offset & 7;
  const int64_t shift = width ? multiply(offset, width) : offset >> 3;
  const int64_t bytes = width ? width : 1;
  // Computed on integers: the address may lie outside of every object until it is checked.
  std::byte* const at =
      reinterpret_cast<std::byte*>(reinterpret_cast<uint64_t>(v.base) + static_cast<uint64_t>(shift));
  if (v.space == Space::Gm) {
    f.core->spend(f.cycles);
    f.cycles = 0;
    if (kStore)
      f.core->scalar_store(at, bytes);
    else
      f.core->scalar_load(at, bytes);
    return at;
  }
  const uint64_t start = reinterpret_cast<uint64_t>(f.core->local_memory(v.space));
  const uint64_t address = reinterpret_cast<uint64_t>(at) - start;
  if (address > static_cast<uint64_t>(f.core->local_bytes(v.space) - bytes)) {
    bad(p, "element at byte " + std::to_string(static_cast<int64_t>(address)) + " of " + space_name(v.space) +
               ", which has " + std::to_string(f.core->local_bytes(v.space)) + " bytes");
  }
  if (f.check_races) {
    f.core->enter(kStore ? "memref.store" : "memref.load", p->line);
    f.core->scalar_touch(v.space, at, bytes, kStore);
  }
  return at;
}

}  // namespace

Next select_view(Next p, Frame& f) {
  f.views[p->d] = f.scalars[p->a].i ? f.views[p->b] : f.views[p->c];
  return p + 1;
}

Next pointer_cast(Next p, Frame& f) {
  const ViewRecipe& r = f.code->recipes[p->extra];
  const int64_t address = f.scalars[p->a].i;
  View& v = f.views[p->d];
  v.space = r.space;
  v.element = r.element;
  v.rank = r.rank;
  v.offset = 0;
  for (int d = 0; d < r.rank; d++) v.sizes[d] = size_at(p, f, r.sizes[d]);
  if (r.kept)
    for (int d = 0; d < r.rank; d++) v.strides[d] = f.scalars[r.strides[d]].i;
  else
    row_major(v);
  if (r.space == Space::Gm) {  // whether it may be touched is checked at the access
    v.base = reinterpret_cast<std::byte*>(address);
    return p + 1;
  }
  const int64_t limit = capacity_of(r.space);
  if (address < 0 || address > limit) {
    bad(p, "address " + std::to_string(address) + " of " + space_name(r.space) + ", which has " +
               std::to_string(limit) + " bytes");
  }
  // Without a core (a constant being computed at load time) the base is the bare address.
  std::byte* const start = f.core ? f.core->local_memory(r.space) : nullptr;
  v.base = reinterpret_cast<std::byte*>(reinterpret_cast<uint64_t>(start) + static_cast<uint64_t>(address));
  return p + 1;
}

Next reinterpret_cast_view(Next p, Frame& f) {
  const ViewRecipe& r = f.code->recipes[p->extra];
  const View& s = f.views[p->a];
  View& v = f.views[p->d];
  v.base = s.base;
  v.space = s.space;
  v.element = s.element;
  v.rank = r.rank;
  v.offset = f.scalars[r.offsets[0]].i;
  for (int d = 0; d < r.rank; d++) {
    v.sizes[d] = size_at(p, f, r.sizes[d]);
    v.strides[d] = f.scalars[r.strides[d]].i;
  }
  return p + 1;
}

Next subview(Next p, Frame& f) {
  const ViewRecipe& r = f.code->recipes[p->extra];
  const View& s = f.views[p->a];
  View& v = f.views[p->d];
  v.base = s.base;
  v.space = s.space;
  v.element = s.element;
  v.rank = r.kept;
  v.offset = element_offset(s, r, f);
  for (int k = 0; k < r.kept; k++) {
    const int d = r.dimensions[k];
    v.sizes[k] = size_at(p, f, r.sizes[d]);
    v.strides[k] = multiply(s.strides[d], f.scalars[r.strides[d]].i);
  }
  return p + 1;
}

// The stride of a group is that of its last dimension whose size is not 1.
Next collapse_shape(Next p, Frame& f) {
  const CollapseRecipe& r = f.code->collapses[p->extra];
  const View& s = f.views[p->a];
  View& v = f.views[p->d];
  v.base = s.base;
  v.space = s.space;
  v.element = s.element;
  v.offset = s.offset;
  v.rank = r.groups;
  int d = 0;
  for (int g = 0; g < r.groups; g++) {
    int64_t size = 1, stride = s.strides[r.ends[g] - 1];
    for (; d < r.ends[g]; d++) {
      size = multiply(size, s.sizes[d]);
      if (s.sizes[d] != 1) stride = s.strides[d];
    }
    v.sizes[g] = size;
    v.strides[g] = stride;
  }
  return p + 1;
}

// recipe: sizes of the result; dimensions[i] = the source dimension that result dimension i came from.
Next expand_shape(Next p, Frame& f) {
  const ViewRecipe& r = f.code->recipes[p->extra];
  const View& s = f.views[p->a];
  View& v = f.views[p->d];
  v.base = s.base;
  v.space = s.space;
  v.element = s.element;
  v.offset = s.offset;
  v.rank = r.rank;
  for (int i = r.rank - 1; i >= 0; i--) {
    v.sizes[i] = size_at(p, f, r.sizes[i]);
    const bool last_of_group = i == r.rank - 1 || r.dimensions[i + 1] != r.dimensions[i];
    v.strides[i] = last_of_group ? s.strides[r.dimensions[i]] : multiply(v.strides[i + 1], v.sizes[i + 1]);
  }
  return p + 1;
}

// offsets[0]: bytes from the start of the source, an i8 view.
Next typed_view(Next p, Frame& f) {
  const ViewRecipe& r = f.code->recipes[p->extra];
  const View& s = f.views[p->a];
  View& v = f.views[p->d];
  const int64_t shift = add(s.offset, f.scalars[r.offsets[0]].i);
  v.base = reinterpret_cast<std::byte*>(reinterpret_cast<uint64_t>(s.base) + static_cast<uint64_t>(shift));
  v.space = s.space;
  v.element = r.element;
  v.offset = 0;
  v.rank = r.rank;
  for (int d = 0; d < r.rank; d++) v.sizes[d] = size_at(p, f, r.sizes[d]);
  row_major(v);
  return p + 1;
}

Next bitcast(Next p, Frame& f) {
  View& v = f.views[p->d];
  v = f.views[p->a];
  v.element = static_cast<Element>(p->extra);
  return p + 1;
}

Next metadata_base(Next p, Frame& f) {
  View& v = f.views[p->d];
  v = f.views[p->a];
  v.offset = 0;
  v.rank = 0;
  return p + 1;
}

Next aligned_pointer(Next p, Frame& f) {
  f.scalars[p->d].i = reinterpret_cast<int64_t>(f.views[p->a].base);
  return p + 1;
}

Next dimension_size(Next p, Frame& f) {
  const View& s = f.views[p->a];
  const int64_t d = f.scalars[p->b].i;
  if (d < 0 || d >= s.rank)
    bad(p, "dimension " + std::to_string(d) + " of a view with " + std::to_string(s.rank));
  f.scalars[p->d].i = s.sizes[d];
  return p + 1;
}

Next metadata_number(Next p, Frame& f) {
  const View& s = f.views[p->a];
  int64_t& number = f.scalars[p->d].i;
  if (p->extra == 0)
    number = s.offset;
  else if (p->extra < 100)
    number = s.sizes[p->extra - 1];
  else
    number = s.strides[p->extra - 100];
  return p + 1;
}

Next load_integer(Next p, Frame& f) {
  int64_t bit;
  const std::byte* at = element_at<false>(p, f, bit);
  int64_t& value = f.scalars[p->d].i;
  switch (bytes_of(f.views[p->a].element)) {
    case 8:
      value = from_bytes<int64_t>(at);
      break;
    case 4:
      value = from_bytes<int32_t>(at);
      break;
    case 2:
      value = from_bytes<int16_t>(at);
      break;
    default:
      value = from_bytes<int8_t>(at);
  }
  return p + 1;
}

Next load_float(Next p, Frame& f) {
  int64_t bit;
  const std::byte* at = element_at<false>(p, f, bit);
  f.scalars[p->d].f = hivm::load_float(f.views[p->a].element, at);
  return p + 1;
}

Next load_bit(Next p, Frame& f) {
  int64_t bit;
  const std::byte* at = element_at<false>(p, f, bit);
  f.scalars[p->d].i = (static_cast<int>(*at) >> bit) & 1;
  return p + 1;
}

Next store_integer(Next p, Frame& f) {
  int64_t bit;
  std::byte* at = element_at<true>(p, f, bit);
  std::memcpy(at, &f.scalars[p->d].i, bytes_of(f.views[p->a].element));
  return p + 1;
}

Next store_float(Next p, Frame& f) {
  int64_t bit;
  std::byte* at = element_at<true>(p, f, bit);
  hivm::store_float(f.views[p->a].element, at, f.scalars[p->d].f);
  return p + 1;
}

Next store_bit(Next p, Frame& f) {
  int64_t bit;
  std::byte* at = element_at<true>(p, f, bit);
  const std::byte one = std::byte{1} << bit;
  *at = f.scalars[p->d].i & 1 ? *at | one : *at & ~one;
  return p + 1;
}

}  // namespace hivm::step
