#include "hivm/frame.h"

#include <string>

#include "hivm/scalar.h"

namespace hivm {
namespace {

[[noreturn]] void bad_arguments(const Launch& launch, const std::string& what) {
  throw ExecutionError("arguments: " + what + " (argument struct of " +
                       std::to_string(launch.argument_bytes) + " bytes)");
}

bool is_wide(const ir::Type& type) {
  return type.kind != ir::Type::Kind::Scalar || bits_of(type.element) == 64;
}

// A dimension that the type leaves open is unknown here: the kernel gets a bare pointer. Its views are made
// by reinterpret_cast; a size that no allocation has makes any other use an error.
constexpr int64_t kUnknownSize = int64_t{1} << 40;

View argument_view(const ir::Type& type, uint64_t address) {
  View v;
  v.base = reinterpret_cast<std::byte*>(address);
  v.element = type.element;
  v.space = type.space;
  v.rank = static_cast<uint8_t>(type.shape.size());
  int64_t stride = 1;
  for (int d = v.rank - 1; d >= 0; d--) {
    v.sizes[d] = type.shape[d] == ir::kDynamic ? kUnknownSize : type.shape[d];
    v.strides[d] = type.has_strides && type.strides[d] != ir::kDynamic ? type.strides[d] : stride;
    if (__builtin_mul_overflow(stride, v.sizes[d], &stride)) stride = kUnknownSize;
  }
  return v;
}

}  // namespace

// The struct holds 8 bytes, aligned to 8, for each memref, i64, f64 and index, and 4 bytes for all else.
void decode_arguments(const Code& code, const Launch& launch, Frame& frame) {
  const auto* bytes = static_cast<const std::byte*>(launch.arguments);
  size_t at = 0;
  for (const CodeParameter& parameter : code.parameters) {
    const size_t width = is_wide(parameter.type) ? 8 : 4;
    at = (at + width - 1) / width * width;
    if (at + width > launch.argument_bytes || !bytes)
      bad_arguments(launch, "the launch passes too few arguments");
    const std::byte* p = bytes + at;
    const Element e = parameter.type.element;
    if (parameter.type.kind == ir::Type::Kind::MemRef) {
      frame.views[parameter.slot] = argument_view(parameter.type, from_bytes<uint64_t>(p));
    } else if (is_float(e)) {
      // f16 and bf16 arrive as a float.
      frame.scalars[parameter.slot].f =
          width == 8 ? from_bytes<double>(p) : round_to(e, from_bytes<float>(p));
    } else {
      frame.scalars[parameter.slot].i =
          width == 8 ? from_bytes<int64_t>(p) : wrap_to(e, from_bytes<int32_t>(p));
    }
    at += width;
  }
  // Under TRITON_DEVICE_PRINT=1 every launcher adds the address of a buffer for debug output, which is not
  // used.
  const size_t taken = (at + 7) / 8 * 8, given = (size_t{launch.argument_bytes} + 7) / 8 * 8;
  if (given != taken && given != taken + 8) {
    bad_arguments(launch, "the kernel takes " + std::to_string(at) + " bytes");
  }
}

Frame make_frame(const Code& code, ExecutionCore& core) {
  Frame frame;
  frame.code = &code;
  frame.core = &core;
  frame.scalars = code.scalars;
  frame.views = code.views;
  frame.check_races = core.checks_races();
  for (const uint32_t slot : code.local_views) {
    View& v = frame.views[slot];
    v.base = core.local_memory(v.space) + reinterpret_cast<uint64_t>(v.base);
  }
  for (const CallSite& site : code.calls) {
    std::vector<Argument>& arguments = frame.calls.emplace_back(site.arguments.size());
    for (size_t i = 0; i < arguments.size(); i++) {
      const CallSite::Source& source = site.arguments[i];
      arguments[i].is_view = source.is_view;
      if (!source.constant) continue;
      if (source.is_view)
        arguments[i].view = frame.views[source.slot];
      else if (source.is_float)
        arguments[i].real = frame.scalars[source.slot].f;
      else
        arguments[i].integer = frame.scalars[source.slot].i;
    }
  }
  return frame;
}

}  // namespace hivm
