#include "base/signals.hpp"

#include <csignal>

namespace nf4bench {
namespace {

// A signal handler can reach only globals; nothing but the handler writes these two.
std::atomic<bool> interrupted = false;
volatile std::sig_atomic_t signal_number = 0;
static_assert(std::atomic<bool>::is_always_lock_free);

void remember(int number) {
  signal_number = number;
  interrupted.store(true);
}

}  // namespace

const std::atomic<bool>& watch_for_interruption() {
  struct sigaction action {};
  action.sa_handler = remember;
  // SA_RESETHAND: the second signal meets the default action, which ends the process.
  action.sa_flags = static_cast<int>(SA_RESETHAND | SA_RESTART);
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  return interrupted;
}

int signal_for_children() {
  return signal_number == SIGTERM ? SIGINT : SIGTERM;
}

std::optional<ExitCode> interruption() {
  if (!interrupted.load()) return std::nullopt;
  return signal_number == SIGTERM ? ExitCode::kTerminated : ExitCode::kInterrupted;
}

}  // namespace nf4bench
