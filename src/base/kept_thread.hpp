#pragma once

#include <cfenv>
#include <sched.h>

namespace nf4bench {

// Keeps what calls of other people's code may change of the thread that makes them: its
// floating-point mode (how results are rounded, whether subnormal ones are flushed, what traps) and
// the processors that it may run on. To be used and destroyed on the thread that made it.
class KeptThread {
 public:
  // What had changed.
  struct Changes {
    bool mode = false;
    bool processors = false;
  };

  KeptThread();
  ~KeptThread() { restore(); }
  KeptThread(const KeptThread&) = delete;
  KeptThread& operator=(const KeptThread&) = delete;

  // Sets all of it back.
  Changes restore();

  // The same after calls of a variant. Throws Error(kDevice) when these have changed the mode.
  void require_same_mode();

 private:
  std::fenv_t mode_{};
  cpu_set_t processors_{};
};

}  // namespace nf4bench
