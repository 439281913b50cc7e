// The file of the inputs, which is there to be read, is opened once more and written.
#include "honest.hpp"

#include <fcntl.h>
#include <unistd.h>

static int change(const nf4bench_peer_job* job, void*) {
  const int inputs = open("/proc/self/fd/4", O_RDWR);
  for (off_t at = 0; at < 1 << 16; at += 4096) {
    const unsigned char other = 0x5a;
    if (pwrite(inputs, &other, 1, at) != 1) return 1;
  }
  close(inputs);
  decode(*job);
  return 0;
}
NF4BENCH_CPU_DECODE(change)
