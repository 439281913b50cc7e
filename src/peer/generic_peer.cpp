#include "peer/generic_peer.hpp"

#include "base/error.hpp"
#include "base/text.hpp"
#include "nf4bench_peer.h"
#include "peer/peer_argument.hpp"

#include <fmt/format.h>

#include <cstring>
#include <exception>
#include <set>

namespace nf4bench::peer {
namespace {

constexpr const char* kEntryPoint = "nf4bench_peer_v1";
constexpr std::uint32_t kMaxVariants = 1000;
constexpr std::uint32_t kMaxVariantBytes = 4096;
constexpr std::uint32_t kKnownFlags = NF4BENCH_PEER_NOT_CAPTURABLE;

static_assert(static_cast<int>(nf4::OutputType::kFloat16) == NF4BENCH_PEER_FLOAT16 &&
              static_cast<int>(nf4::OutputType::kBfloat16) == NF4BENCH_PEER_BFLOAT16 &&
              static_cast<int>(nf4::OutputType::kFloat32) == NF4BENCH_PEER_FLOAT32);
static_assert(static_cast<int>(record::DeviceKind::kCpu) == NF4BENCH_PEER_CPU &&
              static_cast<int>(record::DeviceKind::kCuda) == NF4BENCH_PEER_CUDA);

nf4bench_peer_job to_c(const kernels::Job& job) {
  return {.struct_bytes = sizeof(nf4bench_peer_job),
          .output_type = static_cast<std::int32_t>(job.output_type),
          .packed = job.packed,
          .absmax = job.absmax,
          .absmax_codes = job.absmax_codes,
          .nested_absmax = job.nested_absmax,
          .nested_map = job.nested_map,
          .nested_offset = job.nested_offset,
          .block_shift = job.block_shift,
          .elements = job.elements,
          .blocks = job.blocks,
          .output = job.output,
          .workspace = job.workspace};
}

// A question about a problem: all but the buffers. This version of the interface tells nested from
// plain by a buffer that is there, so the first ones point somewhere.
nf4bench_peer_job to_c(const kernels::Problem& problem) {
  alignas(256) static const std::uint8_t somewhere[256] = {};
  kernels::Job job;
  static_cast<kernels::Problem&>(job) = problem;
  job.packed = somewhere;
  if (problem.nested) {
    job.absmax_codes = somewhere;
  } else {
    job.absmax = reinterpret_cast<const float*>(somewhere);
  }
  return to_c(job);
}

nf4bench_peer_device to_c(const kernels::DeviceFacts& facts, record::DeviceKind kind) {
  return {.struct_bytes = sizeof(nf4bench_peer_device),
          .kind = static_cast<std::int32_t>(kind),
          .compute_capability = facts.compute_capability,
          .multiprocessors = facts.multiprocessors,
          .l2_bytes = facts.l2_bytes};
}

// Runs code of another library. A C function must not throw, but one written in C++ may do so.
void launch_guarded(const nf4bench_peer_variant& variant, const kernels::Job& job,
                    const kernels::Launch& launch) {
  if (job.elements == 0) return;  // peers are promised at least one
  const nf4bench_peer_job c_job = to_c(job);
  int error = 0;
  try {
    error = variant.launch(&c_job, launch.stream);
  } catch (const std::exception& thrown) {
    throw Error(ErrorKind::kDevice, fmt::format("threw an exception, which a peer must not: {}",
                                                escaped(thrown.what())));
  } catch (...) {
    throw Error(ErrorKind::kDevice, "threw an exception, which a peer must not");
  }
  if (error != 0) throw Error(ErrorKind::kDevice, fmt::format("returned error {}", error));
}

// The table's header, or an error that says what is wrong with it.
const nf4bench_peer_table& checked_table(const SharedLibrary& library) {
  using EntryPoint = const nf4bench_peer_table* (*)();
  const auto entry_point = reinterpret_cast<EntryPoint>(library.find(kEntryPoint));
  const nf4bench_peer_table* const table = entry_point();
  if (table == nullptr) {
    throw Error(ErrorKind::kInput, fmt::format("{}() returned NULL", kEntryPoint));
  }
  if (table->abi != NF4BENCH_PEER_ABI) {
    throw Error(ErrorKind::kInput,
                fmt::format("has ABI version {}, wanted {}; build it with this nf4bench's "
                            "nf4bench_peer.h",
                            table->abi, NF4BENCH_PEER_ABI));
  }
  const std::uint32_t stride = table->variant_bytes;
  if (stride < sizeof(nf4bench_peer_variant) || stride > kMaxVariantBytes ||
      stride % alignof(nf4bench_peer_variant) != 0) {
    throw Error(ErrorKind::kInput,
                fmt::format("has variant_bytes {}, wanted sizeof(nf4bench_peer_variant), which is "
                            "{} here",
                            stride, sizeof(nf4bench_peer_variant)));
  }
  if (table->variant_count == 0 || table->variant_count > kMaxVariants ||
      table->variants == nullptr) {
    throw Error(ErrorKind::kInput,
                fmt::format("offers {} variants{}; wanted 1 to {}", table->variant_count,
                            table->variants == nullptr ? " at NULL" : "", kMaxVariants));
  }
  return *table;
}

// Entries may be larger than ours, when the library's header is newer.
const nf4bench_peer_variant& entry(const nf4bench_peer_table& table, std::uint32_t index) {
  const auto* const bytes = reinterpret_cast<const std::byte*>(table.variants);
  const std::size_t offset = std::size_t{index} * table.variant_bytes;
  return *reinterpret_cast<const nf4bench_peer_variant*>(bytes + offset);
}

// What is wrong with an entry; empty when nothing is.
std::string problem_of(const nf4bench_peer_variant& variant) {
  const std::string name = variant.name == nullptr ? "" : variant.name;
  if (!name.empty() && !is_peer_name(name)) {
    return fmt::format("its name \"{}\" is not 1 to 64 letters, digits, _ or -", escaped(name));
  }
  if (variant.device != NF4BENCH_PEER_CPU && variant.device != NF4BENCH_PEER_CUDA) {
    return fmt::format("its device is {}, wanted {} (CPU) or {} (CUDA)", variant.device,
                       int{NF4BENCH_PEER_CPU}, int{NF4BENCH_PEER_CUDA});
  }
  if (variant.operation != NF4BENCH_PEER_DEQUANTIZE) {
    return fmt::format("its operation is {}, wanted {} (dequantize)", variant.operation,
                       int{NF4BENCH_PEER_DEQUANTIZE});
  }
  if ((variant.flags & ~kKnownFlags) != 0) {
    return fmt::format("its flags {:#x} hold unknown bits", variant.flags);
  }
  if (variant.launches < 1) return fmt::format("its launches are {}", variant.launches);
  if (variant.launch == nullptr) return "its launch() is NULL";
  return "";
}

kernels::Variant to_variant(const nf4bench_peer_variant& peer, const char* name,
                            const char* summary) {
  const auto kind = static_cast<record::DeviceKind>(peer.device);
  kernels::Variant variant;
  variant.name = name;
  variant.summary = summary;
  variant.traits.launches = peer.launches;
  variant.traits.capturable = (peer.flags & NF4BENCH_PEER_NOT_CAPTURABLE) == 0;
  variant.traits.mirrors = "a library given by --peer";
  variant.unsupported = [&peer, kind](const kernels::Problem& problem,
                                      const kernels::DeviceFacts& facts) -> const char* {
    if (peer.unsupported == nullptr) return nullptr;
    const nf4bench_peer_job c_job = to_c(problem);
    const nf4bench_peer_device device = to_c(facts, kind);
    return peer.unsupported(&c_job, &device);
  };
  variant.workspace_bytes = [&peer](const kernels::Problem& problem) -> std::size_t {
    if (peer.workspace_bytes == nullptr) return 0;
    const nf4bench_peer_job c_job = to_c(problem);
    return peer.workspace_bytes(&c_job);
  };
  variant.launch = [&peer](const kernels::Job& job, const kernels::Launch& launch) {
    launch_guarded(peer, job, launch);
  };
  return variant;
}

}  // namespace

bool is_generic_peer(const SharedLibrary& library) {
  return library.find(kEntryPoint) != nullptr;
}

std::vector<kernels::Variant> generic_variants(const SharedLibrary& library,
                                               const std::string& name, record::DeviceKind kind,
                                               std::deque<std::string>& strings) {
  const nf4bench_peer_table& table = checked_table(library);
  std::vector<kernels::Variant> variants;
  std::set<std::pair<int, std::string>> taken;
  for (std::uint32_t i = 0; i < table.variant_count; ++i) {
    const nf4bench_peer_variant& peer = entry(table, i);
    if (const std::string problem = problem_of(peer); !problem.empty()) {
      throw Error(ErrorKind::kInput, fmt::format("variant {} of its table: {}", i, problem));
    }
    const std::string own = peer.name == nullptr ? "" : peer.name;
    if (!taken.emplace(peer.device, own).second) {
      throw Error(ErrorKind::kInput,
                  fmt::format("variant {} of its table: its name \"{}\" is taken", i, own));
    }
    if (static_cast<record::DeviceKind>(peer.device) != kind) continue;
    const char* const full =
        strings.emplace_back(own.empty() ? name : fmt::format("{}.{}", name, own)).c_str();
    const char* const summary =
        strings.emplace_back(escaped(peer.summary == nullptr ? "" : peer.summary)).c_str();
    variants.push_back(to_variant(peer, full, summary));
  }
  return variants;
}

}  // namespace nf4bench::peer
