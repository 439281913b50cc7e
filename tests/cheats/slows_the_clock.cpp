// The clock that its calls are timed by runs at a tenth of its speed.
#include "honest.hpp"
#include "slow_clock.hpp"

static int slow_down(const nf4bench_peer_job* job, void*) {
  static const bool is_slow = slow_the_clock();
  decode(*job);
  return is_slow ? 0 : 1;
}
NF4BENCH_CPU_DECODE(slow_down)
