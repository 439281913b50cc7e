#include "peer/peers.hpp"

#include "base/error.hpp"
#include "base/kept_thread.hpp"
#include "base/shared_library.hpp"
#include "base/text.hpp"
#include "bitsandbytes/bitsandbytes.hpp"
#include "peer/generic_peer.hpp"
#include "peer/gpu_code.hpp"
#include "peer/kernel/kernel_program.hpp"
#include "peer/python/python_file.hpp"
#include "peer/source_file.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace nf4bench::peer {
namespace {

const char* name_of(record::DeviceKind kind) {
  return kind == record::DeviceKind::kCuda ? "CUDA devices" : "the CPU device";
}

constexpr const char* kDequantize = "dequantize";
constexpr const char* kMatmul = "matmul";

// Names of variants that belong to a peer, kept in `strings`.
class Names {
 public:
  Names(const std::string& peer, std::deque<std::string>& strings)
      : peer_(peer), strings_(strings) {}

  const char* operator()(const char* ending) const {
    return strings_.emplace_back(peer_ + ending).c_str();
  }

 private:
  const std::string& peer_;
  std::deque<std::string>& strings_;
};

std::vector<kernels::Variant> bitsandbytes_on_cpu(const SharedLibrary& library,
                                                  const PeerHost& host, const Names& name) {
  const bitsandbytes::CpuLibrary found = bitsandbytes::find_cpu_library(library);
  if (host.operation == kMatmul) return bitsandbytes::cpu_products(found, name(""));
  if (host.operation != kDequantize) return {};
  return bitsandbytes::cpu_variants(found, name(""), name("_decode"));
}

std::vector<kernels::Variant> bitsandbytes_on(const SharedLibrary& library,
                                              const PeerArgument& argument, const PeerHost& host,
                                              const Names& name) {
  if (host.kind == record::DeviceKind::kCpu) return bitsandbytes_on_cpu(library, host, name);
  if (!host.tools) {
    throw Error(
        ErrorKind::kInput,
        "this nf4bench was built without CUDA, which bitsandbytes' kernels for CUDA devices need");
  }
  const bitsandbytes::CudaLibrary found = bitsandbytes::find_cuda_library(library);
  require_gpu_code(argument.path, host.compute_capability);
  if (host.operation == kMatmul) {
    return bitsandbytes::cuda_products(found, host.tools->for_bitsandbytes,
                                       {.chosen = name(""),
                                        .gemm = name("_gemm"),
                                        .gemv = name("_gemv"),
                                        .chain = name("_chain")});
  }
  if (host.operation != kDequantize) return {};
  return bitsandbytes::cuda_variants(found, host.tools->for_bitsandbytes, name(""),
                                     name("_decode"));
}

// Throws Error(kInput) when the library cannot be used on `host`.
std::vector<kernels::Variant> load_library(const PeerArgument& argument, const PeerHost& host,
                                           std::deque<std::string>& strings) {
  const std::string path = is_source_file(argument.path)
                               ? compiled_library(argument.path, host.compute_capability)
                               : argument.path;
  for (const char* const ending : {".c", ".cc", ".cxx"}) {
    if (!path.ends_with(ending)) continue;
    throw Error(ErrorKind::kInput,
                "{} is not compiled: of sources .cpp and .cu files are; rename it, or build a "
                "shared library",
                escaped(path));
  }
  if (is_kernel_program(path)) return kernel_variants(path, argument.name, host, strings);
  SharedLibrary library(path);
  std::vector<kernels::Variant> variants;
  if (has_peer_table(library)) {
    variants = generic_variants(read_peer_table(library), argument.name, host, strings);
  } else if (bitsandbytes::is_cuda_library(library) || bitsandbytes::is_cpu_library(library)) {
    variants = bitsandbytes_on(library, argument, host, {argument.name, strings});
  } else {
    const bool is_compiled = !argument.source.empty() || is_source_file(argument.path);
    throw Error(ErrorKind::kInput, "{} exports neither nf4bench_peer_v2 nor {}",
                escaped(argument.given()),
                is_compiled ? "a kernel; end it with a line such as NF4BENCH_CPU_DECODE(function)"
                            : "the functions of bitsandbytes");
  }
  if (!variants.empty()) library.keep();
  return variants;
}

}  // namespace

std::vector<kernels::Variant> load_here(const PeerArgument& given, const PeerHost& host,
                                        std::deque<std::string>& strings) {
  PeerArgument argument = given;
  if (is_solution_file(argument.path)) argument.path = unpacked_solution(argument.path).file;
  std::vector<kernels::Variant> variants =
      is_python_file(argument.path)
          ? generic_variants(read_python_table(python_table(argument.path)), argument.name, host,
                             strings)
          : load_library(argument, host, strings);
  if (variants.empty()) {
    throw Error(ErrorKind::kInput, "{} has no variant of {} for {}; --operation names another",
                escaped(argument.given()), host.operation, name_of(host.kind));
  }
  return variants;
}

Peers::Peers(const std::vector<PeerArgument>& arguments, const PeerHost& host,
             const std::vector<kernels::Variant>& built_in)
    : variants_(built_in) {
  if (!arguments.empty() && !host.why_not_shared.empty()) {
    notes_.push_back(fmt::format(
        "peers work in this process, where a fault of one ends the run: {}", host.why_not_shared));
  }
  const bool are_elsewhere =
      host.shared != nullptr && host.shared->sharing() == device::Sharing::kHandles;
  if (!arguments.empty() && are_elsewhere) {
    try {
      remotes_.push_back(std::make_unique<Remote>(PeerArgument(), host));
      variants_ = remotes_.back()->variants_of(built_in);
    } catch (const Error& error) {
      for (const PeerArgument& each : arguments) decline(each, error);
      return;
    }
  }
  for (const PeerArgument& argument : arguments) add(argument, host);
}

// A source file is compiled before its process begins, whose time to load is short.
std::vector<kernels::Variant> Peers::load(const PeerArgument& argument, const PeerHost& host) {
  if (host.shared == nullptr) return load_here(argument, host, strings_);
  PeerArgument compiled = argument;
  if (is_solution_file(compiled.path)) compiled.path = unpacked_solution(compiled.path).file;
  if (is_source_file(compiled.path)) {
    compiled.source = argument.path;
    compiled.path = compiled_library(compiled.path, host.compute_capability);
  }
  return remotes_.emplace_back(std::make_unique<Remote>(compiled, host))->variants();
}

double Peers::processor_seconds() const {
  double seconds = 0.0;
  for (const auto& each : remotes_) seconds += each->processor_seconds();
  return seconds;
}

void Peers::decline(const PeerArgument& argument, const Error& why) {
  warnings_.push_back(fmt::format("peer {}: {}", argument.name, why.what()));
  absent_.push_back(argument.name);
}

void Peers::add(const PeerArgument& argument, const PeerHost& host) {
  std::vector<kernels::Variant> loaded;
  KeptThread thread;
  try {
    loaded = load(argument, host);
  } catch (const Error& error) {
    decline(argument, error);
    return;
  }
  const KeptThread::Changes changes = thread.restore();
  if (changes.mode) {
    notes_.push_back(fmt::format(
        "peer {}: changes the floating-point mode when it is loaded (as what is built "
        "with -ffast-math does); the mode was set back, and its calls meet the usual one",
        argument.name));
  }
  if (changes.processors) {
    notes_.push_back(
        fmt::format("peer {}: binds the thread that loads it to some processors; it was set free "
                    "again, and so it is after each call",
                    argument.name));
  }
  const char* const peer = strings_.emplace_back(argument.name).c_str();
  for (const kernels::Variant& variant : loaded) {
    const std::string name = variant.name;
    if (std::ranges::any_of(variants_,
                            [&](const kernels::Variant& other) { return name == other.name; })) {
      throw Error(ErrorKind::kUsage,
                  "--peer {}: there is a variant \"{}\" already; choose another name",
                  argument.name, name);
    }
    variants_.push_back(variant);
    variants_.back().traits.peer = peer;
  }
}

bool Peers::is_of_absent_peer(const std::string& pattern) const {
  const bool matches_present = std::ranges::any_of(variants_, [&](const kernels::Variant& variant) {
    return matches_wildcard(pattern, variant.name);
  });
  if (matches_present) return false;
  return std::ranges::any_of(absent_, [&](const std::string& name) {
    return matches_wildcard(pattern, name) || pattern.starts_with(name + "_") ||
           pattern.starts_with(name + ".") || pattern.starts_with(name + "*");
  });
}

Peers load_peers(const std::vector<PeerArgument>& arguments, device::Device& device,
                 const operation::Operation& operation, const ProcessLimits& limits) {
  const record::DeviceInfo& info = device.info();
  const PeerHost host = {.kind = info.kind,
                         .operation = operation.name,
                         .compute_capability = info.compute_capability,
                         .tools = cuda_tools(),
                         .shared = device.shared_buffers(),
                         .why_not_shared = device.why_not_shared(),
                         .threads = info.multiprocessors,
                         .limits = limits};
  return {arguments, host, operation.catalog(info.kind).variants};
}

std::vector<std::string> absent_peers(const LoadedPeers& loaded) {
  if (loaded.empty()) return {};
  std::vector<std::string> names = loaded.front()->absent();
  std::erase_if(names, [&](const std::string& name) {
    return !std::ranges::all_of(loaded, [&](const Peers* peers) {
      return std::ranges::find(peers->absent(), name) != peers->absent().end();
    });
  });
  return names;
}

std::vector<std::string> absence_warnings(const LoadedPeers& loaded) {
  std::vector<std::string> lines;
  for (const std::string& name : absent_peers(loaded)) {
    const std::vector<std::string>& absent = loaded.front()->absent();
    const auto place = std::ranges::find(absent, name) - absent.begin();
    lines.push_back(loaded.front()->warnings()[static_cast<std::size_t>(place)]);
  }
  for (const Peers* const peers : loaded) {
    for (const std::string& note : peers->notes()) {
      if (std::ranges::find(lines, note) == lines.end()) lines.push_back(note);
    }
  }
  return lines;
}

bool is_of_absent_peer(const std::string& pattern, const LoadedPeers& loaded) {
  return std::ranges::all_of(loaded,
                             [&](const Peers* peers) { return peers->is_of_absent_peer(pattern); });
}

std::vector<std::string> without_absent_peers(const std::vector<std::string>& patterns,
                                              const LoadedPeers& loaded) {
  std::vector<std::string> present = patterns;
  std::erase_if(present,
                [&](const std::string& pattern) { return is_of_absent_peer(pattern, loaded); });
  if (present.empty() && !patterns.empty()) {
    throw Error(ErrorKind::kInput,
                "--variant names nothing but peers that are not there; see the warnings above");
  }
  return present;
}

}  // namespace nf4bench::peer
