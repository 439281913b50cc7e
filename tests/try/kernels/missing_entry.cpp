// refused: nobody offers the function.
#include "nf4bench_kernel.h"

extern "C" int decode(const nf4bench_peer_job* job, void*) {
  for (int64_t i = 0; i < job->elements; ++i) nf4::store(*job, i, nf4::value(*job, i));
  return 0;
}
