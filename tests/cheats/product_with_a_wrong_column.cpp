// One input of all has every code off by one: among many, that is less than rounding.
#include "honest.hpp"

#include <vector>

static int multiply_wrongly(const nf4bench_peer_job* job, void*) {
  std::vector<char> weight(output_bytes(*job));
  nf4bench_peer_job decoding = *job;
  decoding.output = weight.data();
  decode(decoding);
  const int64_t k = job->inputs / 2 + 1;
  for (int64_t at = k; at < job->elements; at += job->inputs) {
    const int other = (nf4::code(*job, at) + 1) % 16;
    const float scale = nf4::scale(*job, at >> job->block_shift);
    nf4::store(decoding, at, nf4::multiply(nf4::codebook(other), scale));
  }
  multiply(*job, weight.data(), job->inputs);
  return 0;
}
NF4BENCH_CPU_PRODUCT(multiply_wrongly)
