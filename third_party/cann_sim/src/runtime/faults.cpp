#include "runtime/faults.h"

#include <cstdio>
#include <cstdlib>
#include <sstream>

#include "runtime/config.h"

namespace cann_sim {

Faults::Faults(const std::string& list) {
  std::istringstream entries(list);
  std::string entry;
  while (std::getline(entries, entry, ',')) {
    if (entry.empty()) continue;
    const size_t colon = entry.find(':');
    const std::string argument = colon == std::string::npos ? "" : entry.substr(colon + 1);
    if (!add(entry.substr(0, colon), argument)) {
      std::fprintf(
          stderr,
          "cann_sim: CANN_SIM_FAULTS: '%s' is ignored: malloc:MIB, launch:NAME, kernel:NAME, "
          "notify, notify_lost, value, prof_lost:N, prof_doubled, prof_extra:N, prof_renamed, prof_empty, "
          "prof_no_data or prof_crash expected\n",
          entry.c_str());
    }
  }
}

bool Faults::add(const std::string& kind, const std::string& argument) {
  if (kind == "malloc") {
    char* end = nullptr;
    const double mib = std::strtod(argument.c_str(), &end);
    if (argument.empty() || *end || !(mib >= 0)) return false;
    allocation_limit_ = static_cast<uint64_t>(mib * (1 << 20));
    return true;
  }
  if (kind == "launch" || kind == "kernel") {
    if (argument.empty()) return false;
    (kind == "launch" ? launch_ : kernel_).insert(argument);
    return true;
  }
  if (kind == "prof_lost" || kind == "prof_extra") {
    char* end = nullptr;
    (kind == "prof_lost" ? prof_lost_ : prof_extra_) = std::strtoull(argument.c_str(), &end, 10);
    return !argument.empty() && argument[0] >= '0' && argument[0] <= '9' && !*end;
  }
  if (!argument.empty()) return false;
  if (kind == "prof_doubled") return prof_extra_ = UINT64_MAX;
  if (kind == "prof_renamed") return prof_renamed_ = true;
  if (kind == "prof_empty") return prof_empty_ = true;
  if (kind == "prof_no_data") return prof_no_data_ = true;
  if (kind == "prof_crash") return prof_crash_ = true;
  if (kind == "notify") return no_notify_ = true;
  if (kind == "notify_lost") return notify_lost_ = true;
  if (kind == "value") return no_value_ = true;
  return false;
}

const Faults& faults() {
  static const Faults* const once = new Faults(config().faults);
  return *once;
}

}  // namespace cann_sim
