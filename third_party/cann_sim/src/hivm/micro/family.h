// A family of micro-kernels: one row of the table that names, lookup and documentation are generated from.
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "hivm/micro.h"
#include "hivm/micro/types.h"

namespace hivm::micro {

// One member of a family.
struct Variant {
  std::string name;            // the whole name, for messages
  std::string_view operation;  // what stands for {op}; empty when the pattern has none
  std::string_view shape;  // what stands for {rank}: "2", or axes like "ara"; empty when the pattern has none
  int rank = 0;            // `shape` as a number, 0 when it is none
  Type type = Type::Float;    // {type}, or {from} in a pattern of two types
  Type second = Type::Float;  // {to}
};

using KernelPointer = std::shared_ptr<const MicroKernel>;

// Every combination of an operation, a rank and a type of the lists (words separated by spaces) is a name.
struct Family {
  const char* pattern;  // with {op}, {rank}, {type} or {from} and {to}
  const char* operations;
  const char* ranks;  // or words for axes: "r ar ara"
  const char* types;  // for two types "from:to"
  Pipe pipe;
  KernelPointer (*make)(const Variant& variant);
};

std::vector<std::string_view> split_words(std::string_view text);

// One function per source file of this folder.
const std::vector<Family>& transfer_families();
const std::vector<Family>& elementwise_families();
const std::vector<Family>& cast_families();
const std::vector<Family>& compare_families();
const std::vector<Family>& reduce_families();
const std::vector<Family>& scan_families();
const std::vector<Family>& layout_families();
const std::vector<Family>& order_families();
const std::vector<Family>& sync_families();
const std::vector<Family>& print_families();
const std::vector<Family>& cube_families();
const std::vector<Family>& product_families();

}  // namespace hivm::micro
