#include "peer/generic_peer.hpp"

#include "base/error.hpp"
#include "base/kept_thread.hpp"
#include "base/text.hpp"
#include "layer.hpp"
#include "peer/peer_table.hpp"
#include "peer/python/python_file.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <exception>
#include <optional>

namespace nf4bench::peer {
namespace {

constexpr std::size_t kMaxSummaryChars = 1000;
constexpr std::size_t kMaxErrorChars = 1000;

static_assert(static_cast<int>(nf4::OutputType::kFloat16) == NF4BENCH_PEER_FLOAT16 &&
              static_cast<int>(nf4::OutputType::kBfloat16) == NF4BENCH_PEER_BFLOAT16 &&
              static_cast<int>(nf4::OutputType::kFloat32) == NF4BENCH_PEER_FLOAT32);
static_assert(static_cast<int>(kernels::ActivationKind::kSilu) == NF4BENCH_PEER_SILU &&
              static_cast<int>(kernels::ActivationKind::kGeluTanh) == NF4BENCH_PEER_GELU_TANH &&
              static_cast<int>(kernels::ActivationKind::kGptOss) == NF4BENCH_PEER_GPTOSS &&
              static_cast<int>(kernels::ActivationKind::kRelu2) == NF4BENCH_PEER_RELU2);
static_assert(static_cast<int>(record::DeviceKind::kCpu) == NF4BENCH_PEER_CPU &&
              static_cast<int>(record::DeviceKind::kCuda) == NF4BENCH_PEER_CUDA);

}  // namespace

nf4bench_peer_job peer_job(const kernels::Job& job, int operation) {
  return {.struct_bytes = sizeof(nf4bench_peer_job),
          .output_type = static_cast<std::int32_t>(job.output_type),
          .packed = job.packed,
          .absmax = job.absmax,
          .absmax_codes = job.absmax_codes,
          .nested_absmax = job.nested_absmax,
          .nested_map = job.nested_map,
          .nested_offset = job.nested_offset_value,
          .block_shift = job.block_shift,
          .elements = job.elements,
          .blocks = job.blocks,
          .output = job.output,
          .workspace = job.workspace,
          .operation = operation,
          .nested = job.nested ? 1 : 0,
          .outputs = job.outputs,
          .inputs = job.inputs,
          .tokens = job.tokens,
          .input = job.input,
          .nested_offset_at = job.nested_offset,
          .experts = job.group.experts,
          .top_k = job.group.experts > 0 ? job.group.top_k : 0,
          .ids = static_cast<const std::int64_t*>(job.ids),
          .slot_weights = static_cast<const float*>(job.slot_weights),
          .sums_slots = job.group.sums_slots ? 1 : 0,
          .activation = static_cast<std::int32_t>(job.layer.activation),
          .columns = job.layer.columns};
}

nf4bench_peer_job peer_job(const kernels::Problem& problem, int operation) {
  kernels::Job job;
  static_cast<kernels::Problem&>(job) = problem;
  return peer_job(job, operation);
}

namespace {

nf4bench_peer_device to_c(const kernels::DeviceFacts& facts, record::DeviceKind kind) {
  return {.struct_bytes = sizeof(nf4bench_peer_device),
          .kind = static_cast<std::int32_t>(kind),
          .compute_capability = facts.compute_capability,
          .multiprocessors = facts.multiprocessors,
          .l2_bytes = facts.l2_bytes};
}

std::string words_of(const PeerEntry& entry, int error) {
  const std::string text =
      entry.error_text == nullptr ? "" : bounded_text(entry.error_text(), kMaxErrorChars);
  return text.empty() ? fmt::format("returned error {}", error) : printable(text);
}

// Runs code of another library. A C function must not throw, but one written in C++ may do so.
void launch_guarded(const PeerEntry& entry, const kernels::Job& job,
                    const kernels::Launch& launch) {
  if (job.elements == 0) return;  // peers are promised at least one
  const nf4bench_peer_job c_job = peer_job(job, entry.variant->operation);
  int error = 0;
  try {
    error = entry.variant->launch(&c_job, launch.stream);
  } catch (const std::exception& thrown) {
    throw Error(ErrorKind::kDevice, "threw an exception, which a peer must not: {}",
                escaped(thrown.what()));
  } catch (...) {
    throw Error(ErrorKind::kDevice, "threw an exception, which a peer must not");
  }
  if (error != 0) throw Error(ErrorKind::kDevice, words_of(entry, error));
}

// What the library asks for; none when that cannot be meant.
std::optional<std::size_t> asked_workspace(const PeerEntry& entry,
                                           const kernels::Problem& problem) {
  if (entry.variant->workspace_bytes == nullptr) return 0;
  const nf4bench_peer_job c_job = peer_job(problem, entry.variant->operation);
  const KeptThread thread;
  try {
    const std::size_t bytes = entry.variant->workspace_bytes(&c_job);
    if (bytes <= kMostWorkspace) return bytes;
  } catch (...) {  // said by why_not()
  }
  return std::nullopt;
}

// Why the library declines `problem`, or cannot be asked to do it; null when it can.
const char* why_not(const PeerEntry& entry, const kernels::Problem& problem,
                    const nf4bench_peer_device& device) {
  if (problem.transposed && entry.variant->operation == NF4BENCH_PEER_EXPERTS) {
    return kNoTransposedStacks;
  }
  if (problem.layer.columns > 0) {
    if ((entry.variant->flags & NF4BENCH_PEER_LAYERS) == 0) return kNoLayers;
    if (!kernels::has_whole_stacks(problem)) return "its second stack begins inside of a block";
  }
  if (entry.variant->unsupported != nullptr) {
    const nf4bench_peer_job c_job = peer_job(problem, entry.variant->operation);
    const KeptThread thread;
    try {
      const char* const reason = entry.variant->unsupported(&c_job, &device);
      if (reason != nullptr) return *reason == '\0' ? "declines it without a reason" : reason;
    } catch (...) {
      return "threw an exception from unsupported(), which a peer must not";
    }
  }
  if (!asked_workspace(entry, problem)) {
    return "asks for more than 1 TiB of workspace, or threw an exception when it was asked";
  }
  return nullptr;
}

kernels::Variant to_variant(const PeerEntry& entry, const char* name, const char* summary) {
  const nf4bench_peer_variant& peer = *entry.variant;
  const auto kind = static_cast<record::DeviceKind>(peer.device);
  kernels::Variant variant;
  variant.name = name;
  variant.summary = summary;
  variant.traits.launches = peer.launches;
  variant.traits.capturable = (peer.flags & NF4BENCH_PEER_NOT_CAPTURABLE) == 0;
  variant.traits.inline_ptx = (peer.flags & NF4BENCH_PEER_INLINE_PTX) != 0;
  variant.traits.cache_hints = (peer.flags & NF4BENCH_PEER_CACHE_HINTS) != 0;
  variant.traits.mirrors = "a library given by --peer";
  variant.unsupported = [entry, kind](const kernels::Problem& problem,
                                      const kernels::DeviceFacts& facts) {
    return why_not(entry, problem, to_c(facts, kind));
  };
  variant.workspace_bytes = [entry](const kernels::Problem& problem, const kernels::Launch&) {
    return asked_workspace(entry, problem).value_or(0);
  };
  variant.launch = [entry](const kernels::Job& job, const kernels::Launch& launch) {
    launch_guarded(entry, job, launch);
  };
  return variant;
}

// The variant that `name` is through torch.compile.
const char* variant_compiled(std::string name, std::deque<std::string>& strings) {
  constexpr std::string_view kEnding = "_compiled";
  if (name.ends_with(kEnding)) name.resize(name.size() - kEnding.size());
  return strings.emplace_back(std::move(name)).c_str();
}

}  // namespace

std::vector<kernels::Variant> generic_variants(const std::vector<PeerEntry>& entries,
                                               const std::string& name, const PeerHost& host,
                                               std::deque<std::string>& strings) {
  std::vector<kernels::Variant> variants;
  for (const PeerEntry& entry : entries) {
    if (static_cast<record::DeviceKind>(entry.variant->device) != host.kind) continue;
    if (entry.operation != host.operation) continue;
    const char* const full =
        strings.emplace_back(entry.name.empty() ? name : fmt::format("{}.{}", name, entry.name))
            .c_str();
    const char* const summary =
        strings.emplace_back(escaped(bounded_text(entry.variant->summary, kMaxSummaryChars)))
            .c_str();
    variants.push_back(to_variant(entry, full, summary));
    if ((entry.variant->flags & kPythonCompiled) != 0) {
      variants.back().traits.compiled_from = variant_compiled(full, strings);
    }
  }
  return variants;
}

}  // namespace nf4bench::peer
