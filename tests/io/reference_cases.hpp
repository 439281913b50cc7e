#pragma once

#include <ostream>
#include <string>
#include <vector>

namespace nf4bench::testing {

// Whether this project's reader decides as the reference reader does.
enum class Verdict {
  kBothAccept,
  kBothRefuse,
  kOnlyWeRefuse,  // an intended deviation: docs/formats.md lists it
};

// A bad or odd file, and what safetensors 0.8.0 or numpy 2.5.2 do with it (both were run on every
// one of these files).
struct ReferenceCase {
  std::string name;
  std::string file;
  Verdict verdict;
  std::string wanted;  // what is read, or a part of our message
};

// GoogleTest prints a parameter when its test fails; the bytes of a file help nobody there.
inline void PrintTo(const ReferenceCase& reference_case, std::ostream* stream) {
  *stream << reference_case.name;
}

std::vector<ReferenceCase> safetensors_cases();
std::vector<ReferenceCase> npy_cases();

}  // namespace nf4bench::testing
