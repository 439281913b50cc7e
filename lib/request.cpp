#include "request.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <utility>

namespace nf4bench::lib {
namespace {

using kernels::OutputType;

static_assert(static_cast<int>(OutputType::kFloat16) == NF4_FLOAT16 &&
              static_cast<int>(OutputType::kBfloat16) == NF4_BFLOAT16 &&
              static_cast<int>(OutputType::kFloat32) == NF4_FLOAT32);

// What buffers start at a multiple of.
constexpr std::size_t kAlignment = 16;
constexpr std::size_t kWorkspaceAlignment = 256;

// Of a matrix: more than any memory holds, and so few that no sum or product of sizes overflows.
constexpr std::int64_t kMostValues = std::int64_t{1} << 46;

// A struct that says more is none: what lay in its memory before has been taken for a size.
constexpr std::uint32_t kMostStructBytes = 4096;

// What begins every struct.
std::uint32_t struct_bytes(const void* given) {
  std::uint32_t bytes = 0;
  std::memcpy(&bytes, given, sizeof(bytes));
  return bytes;
}

// A caller's struct may be of a later version than ours, which has `known` bytes; what follows them
// is zero where it is not used.
nf4_status check_struct(const void* given, std::uint32_t known) {
  if (!is_struct(given, known)) return NF4_INVALID_ARGUMENT;
  const auto* const first = static_cast<const unsigned char*>(given);
  for (std::uint32_t i = known; i < struct_bytes(given); ++i) {
    if (first[i] != 0) return NF4_UNSUPPORTED;
  }
  return NF4_OK;
}

// A product whose struct is that of programs from before outputs had a stride, or of later ones.
bool has_output_stride(const nf4_product& given) {
  return given.struct_bytes != offsetof(nf4_product, output_stride);
}

nf4_status check_product(const nf4_product* given) {
  if (!is_struct(given, offsetof(nf4_product, output_stride))) return NF4_INVALID_ARGUMENT;
  return has_output_stride(*given) ? check_struct(given, sizeof(nf4_product)) : NF4_OK;
}

// In values; 0: rows without gaps.
std::int64_t output_stride(const nf4_product& given) {
  return has_output_stride(given) ? given.output_stride : 0;
}

bool is_matrix(std::int64_t rows, std::int64_t columns) {
  return rows > 0 && columns > 0 && rows <= kMostValues / columns;
}

bool is_type(std::int32_t type) {
  return type == NF4_FLOAT16 || type == NF4_BFLOAT16 || type == NF4_FLOAT32;
}

bool is_flag(std::int32_t value) {
  return value == 0 || value == 1;
}

bool is_aligned(const void* memory, std::size_t alignment) {
  return reinterpret_cast<std::uintptr_t>(memory) % alignment == 0;
}

}  // namespace

bool is_struct(const void* given, std::uint32_t known) {
  return given != nullptr && struct_bytes(given) >= known &&
         struct_bytes(given) <= kMostStructBytes;
}

nf4_status read_device(const nf4_device* given, Target& target) {
  const nf4_status status = check_struct(given, sizeof(nf4_device));
  if (status != NF4_OK) return status;
  if (!is_kind(given->kind)) return NF4_INVALID_ARGUMENT;
  target.backend = backend_of(given->kind);
  if (target.backend == nullptr) return NF4_UNSUPPORTED;
  return target.backend->read(*given, target.facts);
}

nf4_status read_sizes(const nf4_weight* given, std::int32_t type, kernels::Problem& problem) {
  const nf4_status status = check_struct(given, sizeof(nf4_weight));
  if (status != NF4_OK) return status;
  if (!is_type(type) || !nf4::is_legal_blocksize(given->blocksize) ||
      !is_matrix(given->outputs, given->inputs)) {
    return NF4_INVALID_ARGUMENT;
  }
  problem.output_type = static_cast<OutputType>(type);
  problem.outputs = given->outputs;
  problem.inputs = given->inputs;
  problem.elements = given->outputs * given->inputs;
  problem.block_shift = __builtin_ctz(static_cast<unsigned>(given->blocksize));
  problem.blocks = kernels::block_count(problem.elements, given->blocksize);
  problem.nested = given->absmax_codes != nullptr;
  return NF4_OK;
}

nf4_status read_sizes(const nf4_weight* weight, const nf4_product* product,
                      kernels::Problem& problem) {
  nf4_status status = check_product(product);
  if (status == NF4_OK) status = read_sizes(weight, product->type, problem);
  if (status != NF4_OK) return status;
  const std::int64_t stride = output_stride(*product);
  const std::int64_t row = stride == 0 ? problem.outputs : stride;
  if (!is_matrix(product->tokens, problem.inputs) || !is_matrix(product->tokens, row) ||
      row < problem.outputs) {
    return NF4_INVALID_ARGUMENT;
  }
  problem.tokens = product->tokens;
  problem.output_gap = row - problem.outputs;
  return NF4_OK;
}

nf4_status read_sizes(const nf4_stack* stack, const nf4_routing* routing,
                      const nf4_product* product, kernels::Problem& problem) {
  nf4_status status = check_struct(stack, sizeof(nf4_stack));
  if (status == NF4_OK) status = check_struct(routing, sizeof(nf4_routing));
  if (status == NF4_OK) status = check_product(product);
  if (status == NF4_OK) status = read_sizes(stack->weight, product->type, problem);
  if (status != NF4_OK) return status;
  if (output_stride(*product) != 0) return NF4_UNSUPPORTED;
  if (stack->experts < 1 || stack->experts > std::numeric_limits<std::int32_t>::max() ||
      problem.outputs % stack->experts != 0 || !is_flag(stack->transposed) ||
      !is_flag(stack->offsets_per_expert) || stack->reserved != 0) {
    return NF4_INVALID_ARGUMENT;
  }
  problem.outputs /= stack->experts;
  problem.transposed = stack->transposed != 0;
  if (problem.transposed) std::swap(problem.outputs, problem.inputs);
  if ((routing->kind != NF4_TOP_K && routing->kind != NF4_ENDS) ||
      (routing->id_bytes != 4 && routing->id_bytes != 8) || !is_type(routing->weight_type) ||
      !is_flag(routing->sums_slots) || routing->reserved != 0 ||
      (routing->kind == NF4_ENDS && routing->top_k != 1) ||
      !is_matrix(routing->tokens, routing->top_k)) {
    return NF4_INVALID_ARGUMENT;
  }
  const std::int64_t slots = routing->tokens * routing->top_k;
  if (!is_matrix(slots, problem.inputs) || !is_matrix(slots, problem.outputs) ||
      (product->tokens != routing->tokens && product->tokens != slots)) {
    return NF4_INVALID_ARGUMENT;
  }
  problem.tokens = routing->tokens;
  problem.group = {.experts = stack->experts,
                   .top_k = routing->top_k,
                   .id_bytes = routing->id_bytes,
                   .ends = routing->kind == NF4_ENDS,
                   .slots_have_rows = product->tokens != routing->tokens,
                   .sums_slots = routing->sums_slots != 0,
                   .own_offsets = problem.nested && stack->offsets_per_expert != 0};
  const std::int64_t group = std::int64_t{kernels::kNestedBlocksize} << problem.block_shift;
  const bool shares_groups = problem.outputs * problem.inputs % group != 0;
  return problem.group.own_offsets && shares_groups ? NF4_INVALID_ARGUMENT : NF4_OK;
}

nf4_status read_activation(const nf4_experts_options* given, std::int64_t outputs,
                           kernels::Activation& activation) {
  const nf4_status status = check_struct(given, sizeof(nf4_experts_options));
  if (status != NF4_OK) return status;
  const bool is_known = given->activation >= NF4_SILU && given->activation <= NF4_RELU2;
  if (!is_known || !is_flag(given->gated) || !is_flag(given->interleaved) ||
      !(given->limit >= 0.0f) || (given->gated != 0 && outputs % 2 != 0)) {
    return NF4_INVALID_ARGUMENT;
  }
  activation.kind = static_cast<kernels::ActivationKind>(given->activation);
  activation.gated = given->gated != 0;
  activation.interleaved = given->interleaved != 0;
  activation.alpha = given->alpha;
  activation.limit = given->limit;
  activation.columns = activation.gated ? outputs / 2 : outputs;
  return NF4_OK;
}

nf4_status check_buffers(std::initializer_list<const void*> buffers) {
  for (const void* memory : buffers) {
    if (memory == nullptr) return NF4_INVALID_ARGUMENT;
  }
  for (const void* memory : buffers) {
    if (!is_aligned(memory, kAlignment)) return NF4_MISALIGNED;
  }
  return NF4_OK;
}

nf4_status read_buffers(const nf4_weight& given, kernels::Job& job) {
  job.packed = given.packed;
  if (!job.nested) {
    job.absmax = given.absmax;
    return check_buffers({given.packed, given.absmax});
  }
  job.absmax_codes = given.absmax_codes;
  job.nested_absmax = given.nested_absmax;
  job.nested_map = given.nested_map;
  job.nested_offset = given.nested_offset;
  // Both kinds of scales at once are none.
  if (given.absmax != nullptr || given.nested_offset == nullptr) return NF4_INVALID_ARGUMENT;
  const nf4_status status =
      check_buffers({given.packed, given.absmax_codes, given.nested_absmax, given.nested_map});
  if (status != NF4_OK) return status;
  return is_aligned(given.nested_offset, alignof(float)) ? NF4_OK : NF4_MISALIGNED;
}

nf4_status read_buffers(const nf4_product& given, std::size_t needed, kernels::Job& job) {
  job.input = given.input;
  job.bias = given.bias;
  job.output = given.output;
  job.workspace = given.workspace;
  const nf4_status status = check_buffers({given.input, given.output});
  if (status != NF4_OK) return status;
  if (!is_aligned(given.bias, kAlignment)) return NF4_MISALIGNED;
  if (needed == 0) return NF4_OK;
  if (given.workspace_bytes < needed) return NF4_WORKSPACE_TOO_SMALL;
  if (given.workspace == nullptr) return NF4_INVALID_ARGUMENT;
  return is_aligned(given.workspace, kWorkspaceAlignment) ? NF4_OK : NF4_MISALIGNED;
}

nf4_status read_buffers(const nf4_stack& stack, const nf4_routing& routing,
                        const nf4_product& product, std::size_t needed, kernels::Job& job) {
  if (product.bias != nullptr) return NF4_INVALID_ARGUMENT;
  nf4_status status = read_buffers(*stack.weight, job);
  if (status == NF4_OK) status = read_buffers(product, needed, job);
  if (status == NF4_OK) status = check_buffers({routing.ids});
  if (status != NF4_OK) return status;
  job.bias = stack.bias;
  job.ids = routing.ids;
  job.slot_weights = routing.weights;
  job.slot_weight_type = static_cast<OutputType>(routing.weight_type);
  const bool are_aligned =
      is_aligned(stack.bias, kAlignment) && is_aligned(routing.weights, kAlignment);
  return are_aligned ? NF4_OK : NF4_MISALIGNED;
}

}  // namespace nf4bench::lib
