// The mode in which the thread that calls it rounds is changed; a reference there would round so,
// too.
#include "honest.hpp"

#include <cfenv>

static int round(const nf4bench_peer_job* job, void*) {
  decode(*job);
  std::fesetround(FE_UPWARD);
  return 0;
}
NF4BENCH_CPU_DECODE(round)
