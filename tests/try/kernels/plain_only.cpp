// unsupported: it says that it knows plain scales only.
#include "nf4bench_kernel.h"

static int decode(const nf4bench_peer_job* job, void*) {
  for (int64_t i = 0; i < job->elements; ++i) nf4::store(*job, i, nf4::value(*job, i));
  return 0;
}

static const char* unsupported(const nf4bench_peer_job* job, const nf4bench_peer_device*) {
  return job->nested ? "nested scales" : nullptr;
}

extern "C" NF4BENCH_PEER_EXPORT const nf4bench_peer_table* nf4bench_peer_v2(void) {
  static const nf4bench_peer_variant kVariant = {
      "", "", NF4BENCH_PEER_DEQUANTIZE, NF4BENCH_PEER_CPU, 1, 0, unsupported, nullptr, decode};
  static const nf4bench_peer_table kTable = {NF4BENCH_PEER_ABI,
                                             sizeof(nf4bench_peer_variant),
                                             1,
                                             sizeof(nf4bench_peer_table),
                                             &kVariant,
                                             nullptr};
  return &kTable;
}
