#pragma once

// Other work on the machine, for tests of what it does to times.

#include <csignal>
#include <sched.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace nf4bench {

// Processes that do nothing but use the processors given, each one of them.
class Burners {
 public:
  explicit Burners(const std::vector<int>& processors) {
    for (const int processor : processors) {
      const pid_t child = fork();
      if (child == 0) burn(processor);
      children_.push_back(child);
    }
    usleep(100'000);  // they have begun
  }
  ~Burners() {
    for (const pid_t child : children_) {
      kill(child, SIGKILL);
      waitpid(child, nullptr, 0);
    }
  }
  Burners(const Burners&) = delete;
  Burners& operator=(const Burners&) = delete;

 private:
  [[noreturn]] static void burn(int processor) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(processor, &one);
    sched_setaffinity(0, sizeof(one), &one);
    alarm(60);  // should the test die
    for (volatile unsigned turns = 0;;) static_cast<void>(turns);
  }

  std::vector<pid_t> children_;
};

}  // namespace nf4bench
