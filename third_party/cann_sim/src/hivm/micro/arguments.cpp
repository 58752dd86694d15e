#include "hivm/micro/arguments.h"

#include <cstring>

namespace hivm::micro {
namespace {

std::string text_of(const Argument& argument) {
  if (!argument.is_view) return "a scalar";
  static const char* const names[] = {"f64", "f32", "f16", "bf16", "i64", "i32", "i16", "i8", "i1"};
  return std::string("a ") + names[static_cast<int>(argument.view.element)] + " view of rank " +
         std::to_string(argument.view.rank);
}

}  // namespace

void Arguments::fail_count(size_t least, size_t most) const {
  fail("takes " + std::to_string(least) + (least == most ? "" : " to " + std::to_string(most)) +
       " arguments, " + std::to_string(arguments_.size()) + " given");
}

void Arguments::fail_view(size_t index, Type type, int rank) const {
  fail("argument " + std::to_string(index) + " is " + text_of(arguments_[index]) + ", a " +
       std::string(name_of(type)) + " view of rank " + std::to_string(rank) + " is expected");
}

void Arguments::fail_scalar(size_t index) const {
  fail("argument " + std::to_string(index) + " is " + text_of(arguments_[index]) + ", a scalar is expected");
}

View scalar_view(const Arguments& arguments, size_t index, Type type, int rank, uint64_t* storage) {
  with_type(type, [&](auto of) {
    using T = typename decltype(of)::type;
    if constexpr (!std::is_same_v<T, Bit>) {
      const T value = arguments.scalar<T>(index);
      std::memcpy(storage, &value, sizeof value);
    }
  });
  View view;
  view.base = reinterpret_cast<std::byte*>(storage);
  view.element = element_of(type);
  view.rank = static_cast<uint8_t>(rank);
  for (int d = 0; d < rank; d++) view.sizes[d] = view.strides[d] = 1;
  return view;
}

}  // namespace hivm::micro
