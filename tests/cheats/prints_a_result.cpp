// The line of a try that was ok, and an end as if all were well.
#include "honest.hpp"

#include <cstdio>
#include <cstdlib>

static int print(const nf4bench_peer_job*, void*) {
  std::puts("{\"schema\":\"nf4bench.try\",\"status\":\"ok\",\"reason\":null}");
  std::exit(0);
}
NF4BENCH_CPU_DECODE(print)
