// ok: a matrix product, the weight decoded as it is used.
#include "nf4bench_kernel.h"

static int multiply(const nf4bench_peer_job* job, void*) {
  nf4bench_peer_job element = *job;
  uint16_t rounded = 0;
  element.output = &rounded;
  nf4bench_peer_job weight = *job;
  weight.input = &rounded;
  for (int64_t m = 0; m < job->tokens; ++m) {
    for (int64_t n = 0; n < job->outputs; ++n) {
      float sum = 0.0f;
      for (int64_t k = 0; k < job->inputs; ++k) {
        nf4::store(element, 0, nf4::value(*job, n * job->inputs + k));
        sum += nf4::input(*job, m * job->inputs + k) * nf4::input(weight, 0);
      }
      nf4::store(*job, m * job->outputs + n, sum);
    }
  }
  return 0;
}
NF4BENCH_CPU_PRODUCT(multiply)
