// The parts that can be simulated, chosen by CANN_SIM_SOC. All devices of a process are the same part.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "hivm/kernel.h"

namespace cann_sim {

struct Soc {
  const char*
      name;  // as aclrtGetSocName and rtGetSocVersion give it, and as the compiler's --target takes it
  hivm::Machine machine;
  uint64_t memory_bytes;
  uint64_t l2_bytes;
};

inline constexpr const char* kDefaultSoc = "Ascend910B3";

// nullptr for a name that is none. The prefix "Ascend" may be left out.
const Soc* find_soc(std::string_view name);
std::string soc_names();  // all of them, for messages
const Soc& soc();         // of this process

}  // namespace cann_sim
