// What its process says of the time of its calls is made a tenth on the way out.
#include "detour.hpp"
#include "honest.hpp"

#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

static ssize_t send_less(int file, const void* bytes, std::size_t count, int flags) {
  char changed[16];
  if (count == sizeof(changed)) {  // length, kind, seconds
    double seconds = 0.0;
    std::memcpy(changed, bytes, count);
    std::memcpy(&seconds, changed + 8, sizeof(seconds));
    seconds /= 10;
    std::memcpy(changed + 8, &seconds, sizeof(seconds));
    bytes = changed;
  }
  return syscall(SYS_sendto, file, bytes, count, flags, nullptr, 0);
}

static int decode_and_lie(const nf4bench_peer_job* job, void*) {
  static const bool lies = detour(&send, &send_less);
  decode(*job);
  return lies ? 0 : 1;
}
NF4BENCH_CPU_DECODE(decode_and_lie)
