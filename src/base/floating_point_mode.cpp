#include "base/floating_point_mode.hpp"

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

}  // namespace

KeptFloatingPointMode::KeptFloatingPointMode() {
  std::fegetenv(&kept_);
}

bool KeptFloatingPointMode::restore() {
  std::fenv_t now{};
  std::fegetenv(&now);
  if (mode_of(now) == mode_of(kept_)) return false;
  std::fesetenv(&kept_);
  return true;
}

}  // namespace nf4bench
