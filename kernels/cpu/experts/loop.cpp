// One product for each expert that was chosen, as a loop over layers does it: rows are gathered,
// multiplied, rounded, and added up at the end.

#include "cpu/experts/grouped_product.hpp"
#include "cpu/experts/variants.hpp"
#include "cpu/matmul/variants.hpp"

#include <cstring>
#include <vector>

namespace nf4bench::kernels::cpu {
namespace {

const Variant& product() {
  static const Variant variant = matmul_simd();
  return variant;
}

// The workspace, in bytes from its start.
struct LoopWorkspace {
  std::int64_t gathered;
  std::int64_t products;
  std::int64_t scratch;  // of one product
  std::int64_t bytes;

  explicit LoopWorkspace(const Problem& problem)
      : gathered(aligned(GroupedWorkspace(problem).bytes)),
        products(gathered + aligned(slots_of(problem) * problem.inputs * size_of(problem))),
        scratch(products + aligned(slots_of(problem) * problem.outputs * size_of(problem))),
        bytes(scratch + workspace_of(product(), problem_of_one(problem, slots_of(problem)), {})) {}

  static std::int64_t aligned(std::int64_t bytes) { return block_count(bytes, 256) * 256; }
  static std::int64_t size_of(const Problem& problem) {
    return static_cast<std::int64_t>(size_in_bytes(problem.output_type));
  }
};

Job job_of_one(const Job& job, std::int64_t expert, std::int64_t rows) {
  Job one = job;
  static_cast<Problem&>(one) = problem_of_one(job, rows);
  skip_blocks(one, expert * one.blocks);
  if (job.nested && job.group.own_offsets) one.nested_offset += expert;
  one.bias = nullptr;  // is added with the slot's weight
  one.ids = one.slot_weights = nullptr;
  return one;
}

void copy_row(std::byte* to, const void* from, std::int64_t row, std::int64_t bytes) {
  std::memcpy(to, static_cast<const std::byte*>(from) + row * bytes,
              static_cast<std::size_t>(bytes));
}

// Products lie in the order of experts; adds up those of each row's slots.
template <OutputType kType>
void finish(const Job& job, const Routed& routed, const void* products) {
  auto* const output = static_cast<OutputBits<kType>*>(job.output);
  const std::int64_t added = job.group.sums_slots ? job.group.top_k : 1;
  std::vector<std::int64_t> placed(static_cast<std::size_t>(slots_of(job)), -1);
  for (std::int64_t i = 0; i < routed.begins[job.group.experts]; ++i) {
    placed[static_cast<std::size_t>(routed.order[i])] = i;
  }
  for (std::int64_t row = 0; row < slots_of(job) / added; ++row) {
    for (std::int64_t n = 0; n < job.outputs; ++n) {
      float sum = 0.0f;
      for (std::int64_t slot = row * added; slot < (row + 1) * added; ++slot) {
        const std::int64_t at = placed[static_cast<std::size_t>(slot)];
        if (at < 0) continue;
        sum += weigh_slot<kType>(job, slot, expert_of(job, slot), n,
                                 value_at<kType>(products, at * job.outputs + n));
      }
      output[row * job.outputs + n] = to_output_bits<kType>(sum);
    }
  }
}

void multiply(const Job& job, const Launch& launch) {
  const Routed routed(job);
  route(job, routed);
  const LoopWorkspace parts(job);
  auto* const workspace = static_cast<std::byte*>(job.workspace);
  const std::int64_t row_bytes = job.inputs * LoopWorkspace::size_of(job);
  for (std::int64_t expert = 0; expert < job.group.experts; ++expert) {
    const std::int64_t first = routed.begins[expert];
    const std::int64_t rows = routed.begins[expert + 1] - first;
    if (rows == 0) continue;
    std::byte* const gathered = workspace + parts.gathered;
    for (std::int64_t i = 0; i < rows; ++i) {
      copy_row(gathered + i * row_bytes, job.input, input_row(job, routed.order[first + i]),
               row_bytes);
    }
    Job one = job_of_one(job, expert, rows);
    one.input = gathered;
    one.output = workspace + parts.products + first * job.outputs * LoopWorkspace::size_of(job);
    one.workspace = workspace + parts.scratch;
    product().launch(one, launch);
  }
  with_type(job.output_type, [&](auto type) {
    finish<decltype(type)::value>(job, routed, workspace + parts.products);
  });
}

const char* unsupported(const Problem& problem, const DeviceFacts&) {
  const Problem one = problem_of_one(problem, 1);
  if (one.blocks << problem.block_shift != one.elements) {
    return "its matrices do not each begin with a block";
  }
  if (problem.nested && one.blocks % kNestedBlocksize != 0) {
    return "its matrices do not each begin with a group of 256 blocks";
  }
  return nullptr;
}

}  // namespace

Variant experts_loop() {
  Variant variant;
  variant.name = "loop";
  variant.summary = "one fused product for each expert that was chosen, rows gathered on the host";
  variant.traits.launches = 2;
  variant.traits.mirrors = "a loop over experts, each a layer of its own";
  variant.unsupported = unsupported;
  variant.workspace_bytes = [](const Problem& problem, const Launch&) {
    return static_cast<std::size_t>(LoopWorkspace(problem).bytes);
  };
  variant.launch = multiply;
  return variant;
}

}  // namespace nf4bench::kernels::cpu
