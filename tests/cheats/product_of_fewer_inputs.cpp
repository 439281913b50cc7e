// A product with half of the inputs, once the calls of its verification are over.
#include "honest.hpp"

#include <vector>

static int halve(const nf4bench_peer_job* job, void*) {
  static int calls = 0;
  std::vector<char> weight(output_bytes(*job));
  nf4bench_peer_job decoding = *job;
  decoding.output = weight.data();
  decode(decoding);
  multiply(*job, weight.data(), calls++ < 92 ? job->inputs : job->inputs / 2);
  return 0;
}
NF4BENCH_CPU_PRODUCT(halve)
