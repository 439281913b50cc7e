#pragma once

// The PTX instructions that Hopper and later have, each once: barriers that count bytes as well as
// arrivals, the copy engine, clusters, registers of a warpgroup. Dependent launches are
// in dependent_launch.cuh.

#include "cuda/ptx.cuh"

#include <cuda.h>
#include <cuda_runtime.h>

#include <cstdint>

namespace nf4bench::kernels::cuda {

#if __CUDA_ARCH__ >= 900

// Makes initialized barriers known to the copy engine. By the thread that initialized them.
__device__ __forceinline__ void publish_barriers() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

// Arrives, and announces `bytes` that copies are going to bring in this phase.
__device__ __forceinline__ void arrive_expecting(std::uint32_t barrier, std::uint32_t bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes)
               : "memory");
}

// Orders this thread's earlier accesses to shared memory before later ones of the copy engine and
// the tensor cores.
__device__ __forceinline__ void fence_async_proxy() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

// Orders what threads have written to global memory, this one or those that it has waited for,
// before what the copy engine reads later.
__device__ __forceinline__ void fence_global_proxies() {
  asm volatile("fence.proxy.async.global;" ::: "memory");
}

// A box of a two-dimensional tensor: the coordinates of its first element, the inner one first.
struct Box {
  const CUtensorMap* map;
  int x;
  int y;
};

// Copies a box; `barrier` gets its bytes. `policy` says how L2 is to treat the lines, if any.
__device__ __forceinline__ void copy_box(std::uint32_t target, const Box& box,
                                         std::uint32_t barrier, std::uint64_t policy) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint "
      "[%0], [%1, {%2, %3}], [%4], %5;" ::"r"(target),
      "l"(box.map), "r"(box.x), "r"(box.y), "r"(barrier), "l"(policy)
      : "memory");
}

__device__ __forceinline__ void copy_box(std::uint32_t target, const Box& box,
                                         std::uint32_t barrier) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes "
      "[%0], [%1, {%2, %3}], [%4];" ::"r"(target),
      "l"(box.map), "r"(box.x), "r"(box.y), "r"(barrier)
      : "memory");
}

// The same of a map of four dimensions, whose second has no other boxes.
__device__ __forceinline__ void copy_box(std::uint32_t target, const Box& box, int last,
                                         std::uint32_t barrier, std::uint64_t policy) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint "
      "[%0], [%1, {%2, 0, %3, %4}], [%5], %6;" ::"r"(target),
      "l"(box.map), "r"(box.x), "r"(box.y), "r"(last), "r"(barrier), "l"(policy)
      : "memory");
}

// Copies so many bytes, a multiple of 16, that lie together.
__device__ __forceinline__ void copy_bulk(std::uint32_t target, const void* source, int bytes,
                                          std::uint32_t barrier) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::
          "r"(target),
      "l"(source), "r"(bytes), "r"(barrier)
      : "memory");
}

// Clusters: blocks of a grid that write to each other's shared memory. All threads of the cluster
// that have not ended arrive, each once before it waits for the others; nothing that they have
// written is promised to be seen.
__device__ __forceinline__ void arrive_at_cluster() {
  asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
}
__device__ __forceinline__ void wait_for_cluster() {
  asm volatile("barrier.cluster.wait.aligned;" ::: "memory");
}

// A place in the shared memory of block `block` of the cluster: where `address` is in its own.
__device__ __forceinline__ std::uint32_t address_in_block(std::uint32_t block,
                                                          std::uint32_t address) {
  std::uint32_t there;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(address), "r"(block));
  return there;
}

// Writes 16 bytes to such a place; `barrier`, in the same block, gets them.
__device__ __forceinline__ void send_16(std::uint32_t target, float4 value, std::uint32_t barrier) {
  asm volatile(
      "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.f32 "
      "[%0], {%1, %2, %3, %4}, [%5];" ::"r"(target),
      "f"(value.x), "f"(value.y), "f"(value.z), "f"(value.w), "r"(barrier)
      : "memory");
}

// Until the first phase of `barrier`, which counts what the cluster sends, has ended.
__device__ __forceinline__ void wait_for_cluster_bytes(std::uint32_t barrier) {
  std::uint32_t ended = 0;
#pragma unroll 1
  while (ended == 0) {
    asm volatile(
        "{\n"
        ".reg .pred ended;\n"
        "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 ended, [%1], 0;\n"
        "selp.u32 %0, 1, 0, ended;\n"
        "}"
        : "=r"(ended)
        : "r"(barrier)
        : "memory");
  }
}

#endif

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

// Gives registers of this warpgroup back, or takes them, so that each thread has kCount.
template <int kCount>
__device__ __forceinline__ void give_back_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kCount));
}
template <int kCount>
__device__ __forceinline__ void take_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kCount));
}

#endif

}  // namespace nf4bench::kernels::cuda
