// Typed access to the arguments of a call; what does not fit is an ExecutionError that names kernel and
// argument.
#pragma once
#include <string>
#include <vector>

#include "hivm/micro.h"
#include "hivm/micro/types.h"

namespace hivm::micro {

class Arguments {
 public:
  // Trailing arguments (temporary buffers) may be missing: between `least` and `most` are accepted.
  Arguments(const std::string& kernel, const std::vector<Argument>& arguments, size_t least, size_t most)
      : kernel_(kernel), arguments_(arguments) {
    if (arguments.size() < least || arguments.size() > most) fail_count(least, most);
  }

  const std::string& kernel() const { return kernel_; }

  // The view at `index`, of this type and rank.
  const View& view(size_t index, Type type, int rank) const {
    const Argument& argument = arguments_[index];
    if (!argument.is_view || argument.view.element != element_of(type) || argument.view.rank != rank) {
      fail_view(index, type, rank);
    }
    return argument.view;
  }

  int64_t integer(size_t index) const {
    if (arguments_[index].is_view) fail_scalar(index);
    return arguments_[index].integer;
  }

  double real(size_t index) const {
    if (arguments_[index].is_view) fail_scalar(index);
    return arguments_[index].real;
  }

  template <class T>
  T scalar(size_t index) const {
    if constexpr (std::is_same_v<T, float>)
      return static_cast<float>(real(index));
    else if constexpr (is_narrow_float<T>)
      return T(static_cast<float>(real(index)));
    else
      return static_cast<T>(integer(index));
  }

  [[noreturn]] void fail(const std::string& what) const { throw ExecutionError(kernel_ + ": " + what); }

 private:
  [[noreturn]] void fail_count(size_t least, size_t most) const;
  [[noreturn]] void fail_view(size_t index, Type type, int rank) const;
  [[noreturn]] void fail_scalar(size_t index) const;

  const std::string& kernel_;
  const std::vector<Argument>& arguments_;
};

// The scalar argument at `index` as a view of one element, which is kept in `storage` and spreads over any
// target.
View scalar_view(const Arguments& arguments, size_t index, Type type, int rank, uint64_t* storage);

}  // namespace hivm::micro
