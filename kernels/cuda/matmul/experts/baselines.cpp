// What people run today: rows are sorted by expert on the device, the host waits to learn how many
// each has, and makes one product for each that was hit. decode_all decodes the whole stack first,
// loop multiplies with the NF4 matrices, grouped_resident with weights that lie decoded.

#include "cuda/dequantize/variants.hpp"
#include "cuda/matmul/cublas.hpp"
#include "cuda/matmul/experts/combine_slots.hpp"
#include "cuda/matmul/experts/grouped_plan.hpp"
#include "cuda/matmul/experts/place_rows.hpp"
#include "cuda/matmul/experts/route_slots.hpp"
#include "cuda/matmul/experts/variants.hpp"
#include "own.hpp"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <vector>

namespace nf4bench::kernels::cuda {
namespace {

constexpr std::int64_t kAlignment = 256;

std::int64_t aligned(std::int64_t bytes) {
  return block_count(bytes, kAlignment) * kAlignment;
}

std::int64_t decoded_bytes(const Problem& problem) {
  return aligned(problem.elements * static_cast<std::int64_t>(size_in_bytes(problem.output_type)));
}

// The workspace, in bytes from its start: what is routed, then these.
struct SortedWorkspace {
  RoutedWorkspace routed;
  std::int64_t products;  // in the order of experts, in the type of the output
  std::int64_t sums;      // what slots contribute, where they are added up
  std::int64_t bytes;

  explicit SortedWorkspace(const Problem& problem)
      : routed(problem, RoutedInput::kSorted),
        products(aligned(routed.bytes)),
        sums(products + aligned(slots_of(problem) * problem.outputs * 2)),
        bytes(sums +
              (problem.group.sums_slots ? aligned(slots_of(problem) * problem.outputs * 4) : 0)) {}
};

const char* unsupported_sorted(const Problem& problem) {
  if (problem.group.ends) return "sorts slots by their ids";
  return unsupported_grouped(problem);
}

// Computes `one`, the product of the expert's rows, whose weights are still those of the stack.
using MultiplyOne = std::function<void(Job one, std::int64_t expert)>;

// Waits for the device.
void multiply_sorted(const Job& job, const Launch& launch, const MultiplyOne& multiply) {
  constexpr int kTileSlots = 64;  // nobody looks at tiles
  const SortedWorkspace parts(job);
  auto* const workspace = static_cast<std::byte*>(job.workspace);
  const RoutedRows routed = launch_route_slots(job, launch, kTileSlots, RoutedInput::kSorted);
  std::vector<int> begins(static_cast<std::size_t>(job.group.experts) + 1);
  cudaMemcpyAsync(begins.data(), routed.rows, begins.size() * sizeof(int), cudaMemcpyDeviceToHost,
                  launch.stream);
  if (cudaStreamSynchronize(launch.stream) != cudaSuccess) return;  // the caller asks what it was
  for (std::int64_t expert = 0; expert < job.group.experts; ++expert) {
    const std::int64_t first = begins[static_cast<std::size_t>(expert)];
    const std::int64_t rows = begins[static_cast<std::size_t>(expert) + 1] - first;
    if (rows <= 0) continue;
    Job one = job;
    static_cast<Problem&>(one) = problem_of_one(job, rows);
    one.bias = nullptr;
    one.ids = one.slot_weights = nullptr;
    one.input = routed.input + first * job.inputs * 2;
    one.output = workspace + parts.products + first * job.outputs * 2;
    multiply(one, expert);
  }
  float* const sums =
      job.group.sums_slots ? reinterpret_cast<float*>(workspace + parts.sums) : nullptr;
  launch_place_rows(job, launch, workspace + parts.products, routed.order, begins.back(), sums);
  if (sums != nullptr) launch_combine_slots(job, launch, sums);
}

// With the stack decoded at `decoded`, by cuBLAS, which works in `scratch`.
void multiply_decoded(const Job& job, const Launch& launch, const std::byte* decoded,
                      std::byte* scratch) {
  multiply_sorted(job, launch, [&](const Job& one, std::int64_t expert) {
    multiply_by_cublas(one, decoded + expert * one.elements * 2, scratch, launch.stream);
  });
}

void decode(const Job& job, const Launch& launch, void* decoded) {
  static const Variant variant = fused();
  Job whole = job;
  whole.output = decoded;
  variant.launch(whole, launch);
}

const char* unsupported_decoded(const Problem& problem, const DeviceFacts&) {
  const char* const reason = unsupported_sorted(problem);
  return reason != nullptr ? reason
                           : cublas_unsupported(problem_of_one(problem, slots_of(problem)));
}

constexpr std::int64_t kTriedOneByOne = 256;  // numbers of rows

// Enough for a product of any number of the rows: kernels change with it. What is not tried may
// need more.
std::int64_t scratch_of_one(const Problem& problem) {
  const std::int64_t slots = slots_of(problem);
  std::int64_t most = 0;
  for (std::int64_t rows = 1; rows <= slots; rows += rows < kTriedOneByOne ? 1 : rows) {
    most = std::max(most, static_cast<std::int64_t>(
                              own_kernels().most_workspace(problem_of_one(problem, rows))));
  }
  const auto all = own_kernels().most_workspace(problem_of_one(problem, slots));
  return std::max(most, static_cast<std::int64_t>(all));
}

// Whether buffers of an expert begin where kernels may take them from.
const char* unsupported_loop(const Problem& problem, const DeviceFacts& device) {
  if (const char* const reason = unsupported_sorted(problem); reason != nullptr) return reason;
  const Problem one = problem_of_one(problem, slots_of(problem));
  constexpr std::int64_t kLeast = 16;  // as libnf4 asks for
  const std::int64_t group = problem.nested ? kNestedBlocksize * kLeast / 4 : kLeast / 4;
  if ((one.blocks << one.block_shift) != one.elements || one.blocks % group != 0 ||
      one.elements / 2 % kLeast != 0) {
    return "its matrices do not each begin with a group of scales";
  }
  const bool has_one =
      own_kernels().choose_matmul(one, device).variant != nullptr &&
      own_kernels().choose_matmul(problem_of_one(problem, 1), device).variant != nullptr;
  return has_one ? nullptr : "has no product of ours for a matrix of it";
}

Variant named(const char* name, const char* summary, const char* mirrors) {
  Variant variant;
  variant.name = name;
  variant.summary = summary;
  variant.traits.mirrors = mirrors;
  variant.traits.capturable = false;  // the host waits for the routing
  return variant;
}

}  // namespace

Variant experts_decode_all() {
  Variant variant = named(
      "decode_all", "one launch decodes the whole stack, then cuBLAS for each expert that was hit",
      "vLLM's plugin, SGLang and parametrized experts");
  variant.traits.launches = 4;
  variant.unsupported = unsupported_decoded;
  variant.workspace_bytes = [](const Problem& problem, const Launch&) {
    return static_cast<std::size_t>(SortedWorkspace(problem).bytes + decoded_bytes(problem)) +
           kCublasWorkspace;
  };
  variant.launch = [](const Job& job, const Launch& launch) {
    auto* const decoded = static_cast<std::byte*>(job.workspace) + SortedWorkspace(job).bytes;
    decode(job, launch, decoded);
    multiply_decoded(job, launch, decoded, decoded + decoded_bytes(job));
  };
  return variant;
}

Variant experts_loop() {
  Variant variant = named("loop", "one fused product for each expert that was hit",
                          "a loop over experts, each a layer of its own");
  variant.traits.launches = 3;
  variant.unsupported = unsupported_loop;
  variant.workspace_bytes = [](const Problem& problem, const Launch&) {
    return static_cast<std::size_t>(SortedWorkspace(problem).bytes + scratch_of_one(problem));
  };
  variant.launch = [](const Job& job, const Launch& launch) {
    auto* const scratch = static_cast<std::byte*>(job.workspace) + SortedWorkspace(job).bytes;
    std::int64_t scratch_bytes = 0;  // looked up for the first that may need more, not in each call
    multiply_sorted(job, launch, [&](Job one, std::int64_t expert) {
      one.workspace = scratch;
      const OwnChoice choice = own_kernels().choose_matmul(one, launch.device);
      // A product that is left out shows when outputs are verified.
      if (choice.variant == nullptr) return;
      if (one.tokens > kTriedOneByOne) {
        if (scratch_bytes == 0) scratch_bytes = scratch_of_one(job);
        if (workspace_of(*choice.variant, one, launch) > scratch_bytes) return;
      }
      skip_blocks(one, expert * one.blocks);
      choice.variant->launch(one, launch);
    });
  };
  return variant;
}

Variant experts_grouped_resident() {
  Variant variant = named(
      "grouped_resident",
      "cuBLAS for each expert that was hit, on weights that lie decoded: a line to compare with",
      "experts that are not quantized");
  variant.traits.launches = 3;
  variant.traits.reference_line = true;
  variant.unsupported = unsupported_decoded;
  variant.workspace_bytes = [](const Problem& problem, const Launch&) {
    return static_cast<std::size_t>(SortedWorkspace(problem).bytes) + kCublasWorkspace;
  };
  variant.prepared_bytes = [](const Problem& problem) {
    return static_cast<std::size_t>(decoded_bytes(problem));
  };
  variant.prepare = [](const Job& job, const Launch& launch) { decode(job, launch, job.prepared); };
  variant.launch = [](const Job& job, const Launch& launch) {
    multiply_decoded(job, launch, static_cast<const std::byte*>(job.prepared),
                     static_cast<std::byte*>(job.workspace) + SortedWorkspace(job).bytes);
  };
  return variant;
}

}  // namespace nf4bench::kernels::cuda
