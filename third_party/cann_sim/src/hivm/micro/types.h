// The type words inside micro-kernel names, and the C++ types that compute with them.
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>
#include <type_traits>

#include "hivm/element.h"
#include "hivm/micro/half.h"

namespace hivm::micro {

enum class Type : uint8_t {
  Float,
  Half,
  Bfloat16,
  Int64,
  Int32,
  Int16,
  Int8,
  Uint64,
  Uint32,
  Uint16,
  Uint8,
  Bool
};

// As written in names: "float", "half", "bfloat16_t", "int64_t", ..., "bool"; nothing for any other word.
std::optional<Type> type_named(std::string_view word);
std::string_view name_of(Type type);

// What a view of this type carries: views know no sign, bool is a packed bit.
constexpr Element element_of(Type type) {
  switch (type) {
    case Type::Float:
      return Element::F32;
    case Type::Half:
      return Element::F16;
    case Type::Bfloat16:
      return Element::BF16;
    case Type::Int64:
    case Type::Uint64:
      return Element::I64;
    case Type::Int32:
    case Type::Uint32:
      return Element::I32;
    case Type::Int16:
    case Type::Uint16:
      return Element::I16;
    case Type::Int8:
    case Type::Uint8:
      return Element::I8;
    case Type::Bool:
      return Element::I1;
  }
  return Element::I1;
}

constexpr bool is_float(Type type) { return type <= Type::Bfloat16; }

struct Bit {};  // stands for a packed i1 where a C++ element type is expected

template <class T>
struct Of {
  using type = T;
};

// Calls f(Of<T>{}) with the storage type of `type`.
template <class F>
decltype(auto) with_type(Type type, F&& f) {
  switch (type) {
    case Type::Float:
      return f(Of<float>{});
    case Type::Half:
      return f(Of<Half>{});
    case Type::Bfloat16:
      return f(Of<BFloat16>{});
    case Type::Int64:
      return f(Of<int64_t>{});
    case Type::Int32:
      return f(Of<int32_t>{});
    case Type::Int16:
      return f(Of<int16_t>{});
    case Type::Int8:
      return f(Of<int8_t>{});
    case Type::Uint64:
      return f(Of<uint64_t>{});
    case Type::Uint32:
      return f(Of<uint32_t>{});
    case Type::Uint16:
      return f(Of<uint16_t>{});
    case Type::Uint8:
      return f(Of<uint8_t>{});
    case Type::Bool:
      break;
  }
  return f(Of<Bit>{});
}

template <class T>
inline constexpr bool is_narrow_float = std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>;

// The type in which an operation on T computes before its result is rounded back to T.
template <class T>
using Wide = std::conditional_t<is_narrow_float<T>, float, T>;

// An unsigned word with the bits of T: for moving and for bitwise operations.
template <class T>
using Word = std::conditional_t<
    sizeof(T) == 8, uint64_t,
    std::conditional_t<sizeof(T) == 4, uint32_t, std::conditional_t<sizeof(T) == 2, uint16_t, uint8_t>>>;

}  // namespace hivm::micro
