// A thread waits for ever for a child of vfork(), so that the process cannot be stopped.
#include "honest.hpp"

#include <thread>
#include <unistd.h>

static int decode_beside(const nf4bench_peer_job* job, void*) {
  static std::thread beside([] {
    if (vfork() == 0) {
      for (;;) pause();
    }
  });
  decode(*job);
  usleep(100000);  // until it waits
  return 0;
}
NF4BENCH_CPU_DECODE(decode_beside)
