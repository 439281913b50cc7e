// ok: the 16 values of a block are rounded once, then copied.
#include "nf4bench_kernel.h"

#include <algorithm>

static int decode(const nf4bench_peer_job* job, void*) {
  const int64_t size = int64_t{1} << job->block_shift;
  for (int64_t block = 0; block < job->blocks; ++block) {
    uint32_t values[16];
    nf4bench_peer_job table = *job;
    table.output = values;
    const int bytes = job->output_type == NF4BENCH_PEER_FLOAT32 ? 4 : 2;
    for (int code = 0; code < 16; ++code) {
      nf4::store(table, code, nf4::multiply(nf4::codebook(code), nf4::scale(*job, block)));
    }
    const int64_t end = std::min(job->elements, (block + 1) * size);
    for (int64_t i = block * size; i < end; ++i) {
      if (bytes == 4) {
        static_cast<uint32_t*>(job->output)[i] = values[nf4::code(*job, i)];
      } else {
        static_cast<uint16_t*>(job->output)[i] =
            reinterpret_cast<uint16_t*>(values)[nf4::code(*job, i)];
      }
    }
  }
  return 0;
}
NF4BENCH_CPU_DECODE(decode)
