#pragma once

#include <cfenv>
#include <cstdint>

namespace nf4bench {

// Keeps the floating-point mode of a thread over calls of other people's code, which may change it:
// how results are rounded, whether subnormal ones are flushed, what traps. To be used and destroyed
// on the thread that made it.
class KeptFloatingPointMode {
 public:
  KeptFloatingPointMode();
  ~KeptFloatingPointMode() { restore(); }
  KeptFloatingPointMode(const KeptFloatingPointMode&) = delete;
  KeptFloatingPointMode& operator=(const KeptFloatingPointMode&) = delete;

  // Sets the mode back; true when it had changed.
  bool restore();

 private:
  std::fenv_t kept_{};
};

}  // namespace nf4bench
