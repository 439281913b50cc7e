#include "peer/bitsandbytes/decoders.hpp"

#include "base/error.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <vector>

namespace nf4bench::peer {

bool has_decoders(const SharedLibrary& library, const DecoderNames& names) {
  return library.find(names.absmax) != nullptr ||
         std::any_of(names.weight.begin(), names.weight.end(),
                     [&](const char* symbol) { return library.find(symbol) != nullptr; });
}

Decoders find_decoders(const SharedLibrary& library, const DecoderNames& names) {
  Decoders found;
  std::vector<std::string> missing;
  const auto find = [&](const char* symbol) {
    void* const address = library.find(symbol);
    if (address == nullptr) missing.emplace_back(symbol);
    return address;
  };
  found.decode_absmax = find(names.absmax);
  for (std::size_t i = 0; i < names.weight.size(); ++i) {
    found.decode_weight[i] = find(names.weight[i]);
  }
  if (!missing.empty()) {
    throw Error(ErrorKind::kInput, fmt::format("is bitsandbytes, but lacks {}; wanted {}",
                                               fmt::join(missing, ", "), names.build));
  }
  return found;
}

}  // namespace nf4bench::peer
