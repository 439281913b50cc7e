#include "peer/peers.hpp"

#include "base/error.hpp"
#include "base/text.hpp"
#include "peer/bitsandbytes.hpp"
#include "peer/generic_peer.hpp"
#include "peer/gpu_code.hpp"
#include "peer/shared_library.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace nf4bench::peer {
namespace {

const char* name_of(record::DeviceKind kind) {
  return kind == record::DeviceKind::kCuda ? "CUDA devices" : "the CPU device";
}

std::vector<kernels::Variant> bitsandbytes_on(const SharedLibrary& library,
                                              const PeerArgument& argument, const PeerHost& host,
                                              std::deque<std::string>& strings) {
  if (host.kind != record::DeviceKind::kCuda || !host.tools) {
    throw Error(ErrorKind::kInput, "bitsandbytes' kernels run on CUDA devices only");
  }
  const BitsandbytesLibrary found = find_bitsandbytes(library);
  require_gpu_code(argument.path, host.compute_capability);
  const char* const chain = strings.emplace_back(argument.name).c_str();
  const char* const decode = strings.emplace_back(argument.name + "_decode").c_str();
  return bitsandbytes_variants(found, *host.tools, chain, decode);
}

// Throws Error(kInput) when nothing in the library can be used on `host`.
std::vector<kernels::Variant> load(const PeerArgument& argument, const PeerHost& host,
                                   std::deque<std::string>& strings) {
  SharedLibrary library(argument.path);
  std::vector<kernels::Variant> variants;
  if (is_generic_peer(library)) {
    variants = generic_variants(library, argument.name, host, strings);
    if (variants.empty()) {
      throw Error(ErrorKind::kInput,
                  fmt::format("{} has no variant of {} for {}", escaped(argument.path),
                              host.operation, name_of(host.kind)));
    }
  } else if (is_bitsandbytes(library)) {
    variants = bitsandbytes_on(library, argument, host, strings);
  } else {
    throw Error(ErrorKind::kInput,
                fmt::format("{} exports neither nf4bench_peer_v2 nor the CUDA functions of "
                            "bitsandbytes",
                            escaped(argument.path)));
  }
  library.keep();
  return variants;
}

}  // namespace

Peers::Peers(const std::vector<PeerArgument>& arguments, const PeerHost& host,
             const std::vector<kernels::Variant>& built_in)
    : variants_(built_in) {
  for (const PeerArgument& argument : arguments) add(argument, host);
}

void Peers::add(const PeerArgument& argument, const PeerHost& host) {
  std::vector<kernels::Variant> loaded;
  try {
    loaded = load(argument, host, strings_);
  } catch (const Error& error) {
    warnings_.push_back(fmt::format("peer {}: {}", argument.name, error.what()));
    absent_.push_back(argument.name);
    return;
  }
  for (const kernels::Variant& variant : loaded) {
    const std::string name = variant.name;
    if (std::any_of(variants_.begin(), variants_.end(),
                    [&](const kernels::Variant& other) { return name == other.name; })) {
      throw Error(ErrorKind::kUsage,
                  fmt::format("--peer {}: there is a variant \"{}\" already; choose another name",
                              argument.name, name));
    }
    variants_.push_back(variant);
  }
}

bool Peers::is_of_absent_peer(const std::string& pattern) const {
  const bool matches_present = std::any_of(
      variants_.begin(), variants_.end(),
      [&](const kernels::Variant& variant) { return matches_wildcard(pattern, variant.name); });
  if (matches_present) return false;
  return std::any_of(absent_.begin(), absent_.end(), [&](const std::string& name) {
    return matches_wildcard(pattern, name) || pattern.starts_with(name + "_") ||
           pattern.starts_with(name + ".") || pattern.starts_with(name + "*");
  });
}

}  // namespace nf4bench::peer
