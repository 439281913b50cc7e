// Output that fills a disk or a pipe.
#include "honest.hpp"

#include <unistd.h>
#include <vector>

static int write_on(const nf4bench_peer_job*, void*) {
  static const std::vector<char> much(1 << 20, 'x');
  for (;;) {
    [[maybe_unused]] const ssize_t written = write(STDOUT_FILENO, much.data(), much.size());
  }
}
NF4BENCH_CPU_DECODE(write_on)
