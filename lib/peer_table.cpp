// The library as a peer of nf4bench: `--peer nf4=libnf4.so` measures the very functions of nf4.h.

#include "nf4bench_peer.h"
#include "plan.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace nf4bench::lib {
namespace {

static_assert(NF4BENCH_PEER_FLOAT16 == int{NF4_FLOAT16} &&
              NF4BENCH_PEER_BFLOAT16 == int{NF4_BFLOAT16} &&
              NF4BENCH_PEER_FLOAT32 == int{NF4_FLOAT32});
static_assert(NF4BENCH_PEER_CPU == int{NF4_CPU} && NF4BENCH_PEER_CUDA == int{NF4_CUDA});

// A table's launch() is not told how many threads it may use; unsupported(), which is called before
// it, is.
std::atomic<std::int32_t> cpu_threads{1};

nf4_weight weight_of(const nf4bench_peer_job& job) {
  const bool is_matrix = job.operation == NF4BENCH_PEER_MATMUL;
  return {.struct_bytes = sizeof(nf4_weight),
          .blocksize = 1 << job.block_shift,
          .outputs = is_matrix ? job.outputs : 1,
          .inputs = is_matrix ? job.inputs : job.elements,
          .packed = job.packed,
          .absmax = job.absmax,
          .absmax_codes = job.absmax_codes,
          .nested_absmax = job.nested_absmax,
          .nested_map = job.nested_map,
          .nested_offset = job.nested_offset_at};
}

nf4_product product_of(const nf4bench_peer_job& job, std::size_t workspace_bytes) {
  return {.struct_bytes = sizeof(nf4_product),
          .type = job.output_type,
          .tokens = job.tokens,
          .input = job.input,
          .bias = nullptr,
          .output = job.output,
          .workspace = job.workspace,
          .workspace_bytes = workspace_bytes,
          .output_stride = 0};
}

const char* unsupported(const nf4bench_peer_job* job, const nf4bench_peer_device* given) {
  if (job->nested != 0 && job->struct_bytes < sizeof(*job)) {
    return "needs an nf4bench that says where memory holds the nested offset";
  }
  if (given->kind == NF4BENCH_PEER_CPU) cpu_threads = given->multiprocessors;
  const nf4_device device = {.struct_bytes = sizeof(nf4_device),
                             .kind = given->kind,
                             .ordinal = 0,
                             .compute_capability = given->compute_capability,
                             .multiprocessors = given->multiprocessors,
                             .l2_bytes = given->l2_bytes};
  const nf4_weight weight = weight_of(*job);
  const nf4_product product = product_of(*job, 0);
  Plan plan;
  const nf4_status status = job->operation == NF4BENCH_PEER_MATMUL
                                ? plan_linear(&device, &weight, &product, plan)
                                : plan_dequantize(&device, &weight, job->output_type, plan);
  return status == NF4_OK ? nullptr : nf4_error_string(status);
}

// For any device, as none is named here.
template <nf4_device_kind kKind>
std::size_t workspace_bytes(const nf4bench_peer_job* job) {
  const nf4_weight weight = weight_of(*job);
  const nf4_product product = product_of(*job, 0);
  kernels::Problem problem;
  if (read_sizes(&weight, &product, problem) != NF4_OK) return 0;
  return backend_of(kKind)->kernels().most_workspace(problem);
}

template <nf4_device_kind kKind>
nf4_status call(const nf4bench_peer_job& job, void* stream) {
  nf4_device device;
  const nf4_status status = backend_of(kKind)->current(device);
  if (status != NF4_OK) return status;
  if (kKind == NF4_CPU) device.multiprocessors = cpu_threads;
  const nf4_weight weight = weight_of(job);
  if (job.operation == NF4BENCH_PEER_DEQUANTIZE) {
    return nf4_dequantize(&device, &weight, job.output_type, job.output, stream);
  }
  const nf4_product product = product_of(job, workspace_bytes<kKind>(&job));
  return nf4_linear(&device, &weight, &product, stream);
}

thread_local nf4_status last_status = NF4_OK;

template <nf4_device_kind kKind>
int launch(const nf4bench_peer_job* job, void* stream) {
  return last_status = call<kKind>(*job, stream);
}

const char* error_text() {
  return nf4_error_string(last_status);
}

constexpr nf4bench_peer_variant variant(std::int32_t operation, std::int32_t device) {
  const bool is_cpu = device == NF4BENCH_PEER_CPU;
  const bool is_matmul = operation == NF4BENCH_PEER_MATMUL;
  nf4bench_peer_variant result = {};
  result.summary = is_matmul ? "nf4_linear() of libnf4" : "nf4_dequantize() of libnf4";
  result.operation = operation;
  result.device = device;
  result.launches = is_matmul ? 0 : 1;  // one or two, as the sizes want
  if (!is_cpu) result.flags = NF4BENCH_PEER_INLINE_PTX | NF4BENCH_PEER_CACHE_HINTS;
  result.unsupported = unsupported;
  if (is_matmul)
    result.workspace_bytes = is_cpu ? workspace_bytes<NF4_CPU> : workspace_bytes<NF4_CUDA>;
  result.launch = is_cpu ? launch<NF4_CPU> : launch<NF4_CUDA>;
  return result;
}

constexpr nf4bench_peer_variant kVariants[] = {
    variant(NF4BENCH_PEER_DEQUANTIZE, NF4BENCH_PEER_CPU),
    variant(NF4BENCH_PEER_MATMUL, NF4BENCH_PEER_CPU),
    variant(NF4BENCH_PEER_DEQUANTIZE, NF4BENCH_PEER_CUDA),
    variant(NF4BENCH_PEER_MATMUL, NF4BENCH_PEER_CUDA)};

}  // namespace
}  // namespace nf4bench::lib

// A build without CUDA offers what comes first.
const nf4bench_peer_table* nf4bench_peer_v2(void) {
  using namespace nf4bench::lib;
  static const nf4bench_peer_table table = {.abi = NF4BENCH_PEER_ABI,
                                            .variant_bytes = sizeof(nf4bench_peer_variant),
                                            .variant_count = cuda_backend() == nullptr ? 2u : 4u,
                                            .table_bytes = sizeof(nf4bench_peer_table),
                                            .variants = kVariants,
                                            .error_text = error_text};
  return &table;
}
