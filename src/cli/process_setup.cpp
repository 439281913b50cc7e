#include "cli/process_setup.hpp"

#include <csignal>
#include <fcntl.h>
#include <initializer_list>
#include <unistd.h>

namespace nf4bench::cli {

void set_up_process() {
  std::signal(SIGXFSZ, SIG_IGN);
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(stream, F_GETFD) >= 0) continue;
    // open() takes the lowest free number, which is that of `stream`. The direction is the wrong
    // one, so that using the stream fails.
    const int direction = stream == STDIN_FILENO ? O_WRONLY : O_RDONLY;
    [[maybe_unused]] const int opened = open("/dev/null", direction);
  }
}

}  // namespace nf4bench::cli
