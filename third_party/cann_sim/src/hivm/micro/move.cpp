#include "hivm/micro/move.h"

#include <algorithm>
#include <cstring>

#include "hivm/micro/bits.h"

namespace hivm::micro {
namespace {

template <class W>
void move_loop(const Lane& from, const Lane& to, int64_t n) {
  const W* source = from.pointer<W>();
  W* target = to.pointer<W>();
  if (from.stride == 1 && to.stride == 1) {
    std::memmove(target, source, static_cast<size_t>(n) * sizeof(W));
  } else if (from.stride == 0 && to.stride == 1) {
    std::fill_n(target, n, *source);
  } else {
    for (int64_t i = 0; i < n; i++) target[i * to.stride] = source[i * from.stride];
  }
}

void move_bits(const Lane& from, const Lane& to, int64_t n) {
  for_bits(to, n, [&](int64_t i, int count) { return read_bits(from, i, count); });
}

}  // namespace

MoveLoop move_of(Type type) {
  switch (bits_of(element_of(type))) {
    case 64:
      return move_loop<uint64_t>;
    case 32:
      return move_loop<uint32_t>;
    case 16:
      return move_loop<uint16_t>;
    case 8:
      return move_loop<uint8_t>;
    default:
      return move_bits;
  }
}

}  // namespace hivm::micro
