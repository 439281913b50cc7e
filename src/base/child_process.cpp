#include "base/child_process.hpp"

#include "base/file_lock.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <poll.h>
#include <string_view>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace nf4bench {
namespace {

constexpr int kNotStarted = 127;
constexpr int kNapMs = 50;  // between two looks at the flag

struct Pipe {
  Descriptor reader;
  Descriptor writer;

  Pipe() {
    std::array<int, 2> ends = {-1, -1};
    if (pipe2(ends.data(), O_CLOEXEC) != 0) return;
    reader = Descriptor(ends[0]);
    writer = Descriptor(ends[1]);
  }
};

// What a process writes to its two streams.
struct Channels {
  Pipe out;
  Pipe err;

  bool are_open() const { return out.writer.is_open() && err.writer.is_open(); }

  void close_writers() {
    out.writer = Descriptor();
    err.writer = Descriptor();
  }
};

std::string_view name_of(std::string_view setting) {
  return setting.substr(0, setting.find('='));
}

// This process's environment, with `settings` in place of its own.
std::vector<std::string> environment_with(const std::vector<std::string>& settings) {
  std::vector<std::string> all = settings;
  for (char** each = environ; each != nullptr && *each != nullptr; ++each) {
    bool is_replaced = false;
    for (const std::string& setting : settings) is_replaced |= name_of(*each) == name_of(setting);
    if (!is_replaced) all.emplace_back(*each);
  }
  return all;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> all;
  all.reserve(texts.size() + 1);
  for (std::string& text : texts) all.push_back(text.data());
  all.push_back(nullptr);
  return all;
}

// Appends what can be read; false at the end of the stream.
bool drain(int stream, std::string& text) {
  std::array<char, 65536> bytes{};
  const ssize_t count = read(stream, bytes.data(), bytes.size());
  if (count < 0) return errno == EINTR;
  text.append(bytes.data(), static_cast<std::size_t>(count));
  return count > 0;
}

// Between fork and exec only what is safe in a signal handler: other threads may hold any lock.
[[noreturn]] void become(char* const* arguments, char* const* environment,
                         const Channels& channels) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  dup2(channels.out.writer.get(), STDOUT_FILENO);
  dup2(channels.err.writer.get(), STDERR_FILENO);
  execve("/proc/self/exe", arguments, environment);
  _exit(kNotStarted);
}

void read_to_the_end(pid_t child, const Channels& channels, ChildOutcome& outcome,
                     const std::atomic<bool>& interrupted) {
  std::array<pollfd, 2> streams = {pollfd{channels.out.reader.get(), POLLIN, 0},
                                   pollfd{channels.err.reader.get(), POLLIN, 0}};
  bool is_told = false;
  while (streams[0].fd >= 0 || streams[1].fd >= 0) {
    if (interrupted.load() && !is_told) is_told = kill(child, SIGTERM) == 0;
    if (poll(streams.data(), streams.size(), kNapMs) <= 0) continue;
    if (streams[0].revents != 0 && !drain(streams[0].fd, outcome.out)) streams[0].fd = -1;
    if (streams[1].revents != 0 && !drain(streams[1].fd, outcome.err)) streams[1].fd = -1;
  }
}

}  // namespace

ChildOutcome run_child(const ChildCommand& command, const std::atomic<bool>& interrupted) {
  std::vector<std::string> words = command.arguments;
  std::vector<std::string> settings = environment_with(command.environment);
  const std::vector<char*> arguments = pointers(words);
  const std::vector<char*> environment = pointers(settings);
  Channels channels;
  const pid_t child = channels.are_open() ? fork() : -1;
  if (child == 0) become(arguments.data(), environment.data(), channels);
  channels.close_writers();
  ChildOutcome outcome;
  outcome.exit_code = kNotStarted;
  if (child < 0) return outcome;
  read_to_the_end(child, channels, outcome, interrupted);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  outcome.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return outcome;
}

}  // namespace nf4bench
