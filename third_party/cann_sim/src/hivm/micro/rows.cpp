#include "hivm/micro/rows.h"

#include <cstring>

namespace hivm::micro {
namespace {

bool overlap(const View& a, const View& b) {
  if (a.space != b.space || a.base == nullptr || b.base == nullptr) return false;
  const Extent x = extent_of(a), y = extent_of(b);
  return x.begin < y.end && y.begin < x.end;
}

int64_t first_bit(const View& v) {
  return reinterpret_cast<intptr_t>(v.base) * 8 + v.offset * bits_of(v.element);
}

// Whether writing the target in ascending order never destroys a source element that is still to be read:
// same start, the source runs ahead of the target in every dimension, and its own addresses rise in row-major
// order.
bool upwards_is_safe(const View& source, const View& target) {
  if (first_bit(source) != first_bit(target) || source.rank != target.rank) return false;
  int64_t inner = 0;  // extent of the dimensions inside d, in elements
  for (int d = source.rank - 1; d >= 0; d--) {
    if (source.sizes[d] != target.sizes[d]) return false;
    if (source.sizes[d] == 1) continue;
    if (source.strides[d] < inner) return false;
    inner = source.strides[d] * source.sizes[d];
    const int64_t ahead = source.strides[d] * bits_of(source.element),
                  behind = target.strides[d] * bits_of(target.element);
    if (behind < 0 || ahead < behind) return false;
  }
  return true;
}

}  // namespace

std::string shape_text(const View& view) {
  std::string text = "[";
  for (int d = 0; d < view.rank; d++) text += (d ? ", " : "") + std::to_string(view.sizes[d]);
  return text + ']';
}

void fail_shapes(const std::string& kernel, const View& source, const View& target) {
  throw ExecutionError(kernel + ": a view of " + shape_text(source) + " does not fit a view of " +
                       shape_text(target) + "; sizes must be equal or 1");
}

Source::Source(const View& source, const View& target) : view_(source) {
  if (!overlap(source, target) || upwards_is_safe(source, target)) return;
  const Extent extent = extent_of(source);
  copy_.assign(extent.begin, extent.end);
  view_.base = copy_.data();
  view_.offset -= (extent.begin - source.base) * 8 / bits_of(source.element);
}

}  // namespace hivm::micro
