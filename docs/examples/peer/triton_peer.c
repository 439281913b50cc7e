/* A peer around a kernel that Triton compiled ahead of time.
 *
 * python -m triton.tools.compile and triton.tools.link write nf4_nested.h and .c files; the header
 * declares
 *   CUresult nf4_nested_default(CUstream stream, <the kernel's arguments but constexpr ones>);
 * with CUdeviceptr for pointers. The .c files hold the cubin and launch it with the grid that the
 * compiler was given. This file turns a job into that call; docs/peers.md has the commands. */
#include "nf4_nested.h"
#include "nf4bench_peer.h"

static CUdeviceptr device_pointer(const void* pointer) {
  return (CUdeviceptr)(uintptr_t)pointer;
}

static int launch(const nf4bench_peer_job* job, void* stream) {
  return (int)nf4_nested_default(
      (CUstream)stream, device_pointer(job->packed), device_pointer(job->absmax_codes),
      device_pointer(job->nested_absmax), device_pointer(job->nested_map),
      device_pointer(job->output), job->nested_offset, job->elements, job->block_shift);
}

/* Only one signature was compiled: nested scales, float16. */
static const char* unsupported(const nf4bench_peer_job* job, const nf4bench_peer_device* device) {
  (void)device;
  if (!job->nested) return "compiled for nested scales alone";
  if (job->output_type != NF4BENCH_PEER_FLOAT16) return "compiled for float16 alone";
  if (job->elements > INT32_MAX) return "compiled for a grid of 32-bit counts";
  return NULL;
}

static const nf4bench_peer_variant kVariants[] = {{
    .summary = "Triton, compiled ahead of time",
    .operation = NF4BENCH_PEER_DEQUANTIZE,
    .device = NF4BENCH_PEER_CUDA,
    .launches = 1,
    .unsupported = unsupported,
    .launch = launch,
}};

const nf4bench_peer_table* nf4bench_peer_v2(void) {
  static const nf4bench_peer_table table = {
      .abi = NF4BENCH_PEER_ABI,
      .variant_bytes = sizeof(nf4bench_peer_variant),
      .variant_count = 1,
      .table_bytes = sizeof(nf4bench_peer_table),
      .variants = kVariants,
  };
  return &table;
}
