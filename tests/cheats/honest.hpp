// The honest part of each cheat.
#pragma once

#include "nf4bench_kernel.h"

#include <cstddef>
#include <cstring>
#include <vector>

inline std::size_t output_bytes(const nf4bench_peer_job& job) {
  const auto elements = static_cast<std::size_t>(job.elements);
  return elements * (job.output_type == NF4BENCH_PEER_FLOAT32 ? 4 : 2);
}

inline void decode(const nf4bench_peer_job& job, int64_t first, int64_t last) {
  for (int64_t i = first; i < last; ++i) nf4::store(job, i, nf4::value(job, i));
}

inline void decode(const nf4bench_peer_job& job) {
  decode(job, 0, job.elements);
}

// Decodes once, and copies the answer from then on.
inline void decode_once(const nf4bench_peer_job& job, std::vector<char>& answer) {
  if (answer.size() != output_bytes(job)) {
    decode(job);
    const char* const output = static_cast<const char*>(job.output);
    answer.assign(output, output + output_bytes(job));
  }
  std::memcpy(job.output, answer.data(), answer.size());
}

// y = x W^T with the first `inputs` inputs alone; `weight` holds W in the type of the output.
inline void multiply(const nf4bench_peer_job& job, const void* weight, int64_t inputs) {
  nf4bench_peer_job decoded = job;
  decoded.input = weight;
  for (int64_t m = 0; m < job.tokens; ++m) {
    for (int64_t n = 0; n < job.outputs; ++n) {
      float sum = 0.0f;
      for (int64_t k = 0; k < inputs; ++k) {
        sum += nf4::input(job, m * job.inputs + k) * nf4::input(decoded, n * job.inputs + k);
      }
      nf4::store(job, m * job.outputs + n, sum);
    }
  }
}
