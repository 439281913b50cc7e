#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace nf4bench::doctor {

// How much a finding says against a measurement. The order matters: later is worse.
enum class Severity : std::uint8_t {
  kOk,         // as it should be
  kNote,       // good to know, or not known
  kWarning,    // times may be off, or not the same tomorrow
  kWorthless,  // a gate run here decides nothing
};

const char* to_string(Severity severity);

// What one check found.
struct Finding {
  std::string check;  // "clocks": a word that stays the same in all versions
  Severity severity = Severity::kOk;
  std::string found;   // one sentence without its full stop
  std::string why;     // it matters
  std::string remedy;  // a command, or what else to do; empty when nothing needs to be done
};

}  // namespace nf4bench::doctor
