#include "base/kept_thread.hpp"

#include "base/error.hpp"

#include <cstdint>

namespace nf4bench {
namespace {

// The mode alone: an environment also holds which exceptions there were.
std::uint64_t mode_of(const std::fenv_t& environment) {
#if defined(__x86_64__)
  constexpr std::uint64_t kExceptions = 0x3f;
  return (environment.__mxcsr & ~kExceptions) << 16 | environment.__control_word;
#elif defined(__aarch64__)
  return environment.__fpcr;
#else
#error "which part of an environment is the mode, this processor must say"
#endif
}

// None where the system does not say.
cpu_set_t allowed_processors() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  sched_getaffinity(0, sizeof(allowed), &allowed);
  return allowed;
}

}  // namespace

KeptThread::KeptThread() : processors_(allowed_processors()) {
  std::fegetenv(&mode_);
}

KeptThread::Changes KeptThread::restore() {
  Changes changes;
  std::fenv_t now{};
  std::fegetenv(&now);
  if (mode_of(now) != mode_of(mode_)) {
    std::fesetenv(&mode_);
    changes.mode = true;
  }
  const cpu_set_t allowed = allowed_processors();
  if (CPU_COUNT(&processors_) > 0 && CPU_EQUAL(&processors_, &allowed) == 0) {
    changes.processors = sched_setaffinity(0, sizeof(processors_), &processors_) == 0;
  }
  return changes;
}

void KeptThread::require_same_mode() {
  if (!restore().mode) return;
  throw Error(ErrorKind::kDevice,
              "changes the floating-point mode of the thread that calls it, which all others would "
              "feel; a variant must leave rounding and subnormal numbers as they are");
}

}  // namespace nf4bench
