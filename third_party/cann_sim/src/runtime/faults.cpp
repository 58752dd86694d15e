#include "runtime/faults.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <sstream>

#include "runtime/config.h"

namespace cann_sim {
namespace {

constexpr const char* kAllowed =
    "compile_abort, compile_segv or compile_hang:NAME[:TEXT], malloc:MIB, malloc_nth:N, launch, kernel or "
    "device:NAME[:BLOCKS], record[:N], elapsed[:N], elapsed_zero[:N], elapsed_negative[:N], notify, "
    "notify_lost, "
    "value, prof_lost:N, prof_doubled, prof_extra:N, prof_renamed, prof_empty, prof_no_data or prof_crash";

bool read_number(const std::string& text, uint64_t* value) {
  char* end = nullptr;
  *value = std::strtoull(text.c_str(), &end, 10);
  return !text.empty() && text[0] >= '0' && text[0] <= '9' && !*end;
}

}  // namespace

Faults::Faults(const std::string& list) {
  std::istringstream entries(list);
  std::string entry;
  while (std::getline(entries, entry, ',')) {
    if (entry.empty()) continue;
    const size_t colon = entry.find(':');
    const std::string argument = colon == std::string::npos ? "" : entry.substr(colon + 1);
    if (!add(entry.substr(0, colon), argument)) {
      std::fprintf(stderr, "cann_sim: CANN_SIM_FAULTS: '%s' is ignored: %s expected\n", entry.c_str(),
                   kAllowed);
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
  if (kind == "malloc_nth") return read_number(argument, &failing_allocation_);
  if (kind == "prof_lost") return read_number(argument, &prof_lost_);
  if (kind == "prof_extra") return read_number(argument, &prof_extra_);
  if (kind == "launch" || kind == "kernel" || kind == "device" || kind.rfind("compile_", 0) == 0)
    return add_victim(kind, argument);
  for (const auto& [name, calls] : {std::pair{"record", &record_},
                                    {"elapsed", &elapsed_},
                                    {"elapsed_zero", &elapsed_zero_},
                                    {"elapsed_negative", &elapsed_negative_}}) {
    if (kind != name) continue;
    uint64_t n = 1;
    if (!argument.empty() && (!read_number(argument, &n) || n == 0)) return false;
    calls->arm(n);
    return true;
  }
  if (!argument.empty()) return false;
  if (kind == "prof_doubled") {
    prof_extra_ = UINT64_MAX;
    return true;
  }
  for (const auto& [name, flag] : {std::pair{"prof_renamed", &prof_renamed_},
                                   {"prof_empty", &prof_empty_},
                                   {"prof_no_data", &prof_no_data_},
                                   {"prof_crash", &prof_crash_},
                                   {"notify", &no_notify_},
                                   {"notify_lost", &notify_lost_},
                                   {"value", &no_value_}}) {
    if (kind == name) return *flag = true;
  }
  return false;
}

bool Faults::add_victim(const std::string& kind, const std::string& argument) {
  const size_t colon = argument.find(':');
  Victim victim{argument.substr(0, colon), colon == std::string::npos ? "" : argument.substr(colon + 1), ""};
  if (victim.kernel.empty()) return false;
  if (kind.rfind("compile_", 0) == 0) {
    victim.fault = kind.substr(8);
    if (victim.fault != "abort" && victim.fault != "segv" && victim.fault != "hang") return false;
    compile_.push_back(std::move(victim));
    return true;
  }
  uint64_t blocks = 0;
  if (colon != std::string::npos && !read_number(victim.detail, &blocks)) return false;
  (kind == "launch" ? launch_ : kind == "kernel" ? kernel_ : device_).push_back(std::move(victim));
  return true;
}

bool Faults::means(const Victims& victims, const std::string& entry, uint32_t blocks) {
  return std::any_of(victims.begin(), victims.end(), [&](const Victim& victim) {
    return victim.kernel == entry && (victim.detail.empty() || victim.detail == std::to_string(blocks));
  });
}

std::string Faults::compile_fault(std::string_view module) const {
  const auto has = [module](const std::string& text) { return module.find(text) != std::string_view::npos; };
  for (const Victim& victim : compile_) {
    const std::string name = "func.func @" + victim.kernel;
    if ((has(name + "(") || has(name + "_mix_aic(")) && has(victim.detail)) return victim.fault;
  }
  return "";
}

double Faults::elapsed_factor() const {
  if (elapsed_zero_.hits()) return 0;
  return elapsed_negative_.hits() ? -1 : 1;
}

const Faults& faults() {
  static const Faults* const once = new Faults(config().faults);
  return *once;
}

}  // namespace cann_sim
