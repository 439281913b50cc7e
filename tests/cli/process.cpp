#include "cli/process.hpp"

#include "source_dir.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <poll.h>
#include <pty.h>
#include <sstream>
#include <stdexcept>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace nf4bench::test {
namespace {

struct Channel {
  int parent = -1;
  int child = -1;
};

Channel open_pipe() {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) throw std::runtime_error("pipe2 failed");
  return {ends[0], ends[1]};
}

Channel open_terminal() {
  Channel channel;
  if (openpty(&channel.parent, &channel.child, nullptr, nullptr, nullptr) != 0) {
    throw std::runtime_error(std::string("openpty: ") + std::strerror(errno));
  }
  fcntl(channel.parent, F_SETFD, FD_CLOEXEC);
  return channel;
}

Channel open_stream(Stream stream) {
  return stream == Stream::kPipe ? open_pipe() : open_terminal();
}

std::vector<char*> pointers(const std::vector<std::string>& words) {
  std::vector<char*> result;
  for (const std::string& word : words) result.push_back(const_cast<char*>(word.c_str()));
  result.push_back(nullptr);
  return result;
}

// Appends what can be read from `descriptor`; false at its end.
bool drain(int descriptor, std::string& text) {
  std::array<char, 65536> buffer{};
  const ssize_t count = read(descriptor, buffer.data(), buffer.size());
  if (count <= 0) return false;  // a terminal whose other side is closed reports an error
  text.append(buffer.data(), static_cast<std::size_t>(count));
  return true;
}

}  // namespace

std::string why_no_terminal() {
  try {
    const Channel channel = open_terminal();
    close(channel.parent);
    close(channel.child);
    return "";
  } catch (const std::runtime_error& error) {
    return error.what();
  }
}

Process::Process(const Command& command) {
  const Channel out = open_stream(command.output_stream);
  const Channel err = open_stream(command.error_stream);
  const std::vector<char*> arguments = pointers(command.arguments);
  pid_ = fork();
  if (pid_ < 0) throw std::runtime_error("fork failed");
  if (pid_ == 0) {
    dup2(open("/dev/null", O_RDONLY), STDIN_FILENO);
    dup2(out.child, STDOUT_FILENO);
    dup2(err.child, STDERR_FILENO);
    // Tests run side by side on one CPU. None should be warned of the others.
    setenv("NF4BENCH_LOCKS", "", 1);
    for (const std::string& setting : command.environment) {
      putenv(const_cast<char*>(setting.c_str()));
    }
    std::signal(SIGPIPE, SIG_DFL);
    execv(arguments[0], arguments.data());
    _exit(127);
  }
  close(out.child);
  close(err.child);
  out_ = out.parent;
  err_ = err.parent;
}

Process::~Process() {
  if (pid_ > 0) {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  if (out_ >= 0) close(out_);
  if (err_ >= 0) close(err_);
}

void Process::send(int signal) const {
  kill(pid_, signal);
}

Outcome Process::wait() {
  Outcome outcome;
  std::array<pollfd, 2> streams = {pollfd{out_, POLLIN, 0}, pollfd{err_, POLLIN, 0}};
  while (streams[0].fd >= 0 || streams[1].fd >= 0) {
    poll(streams.data(), streams.size(), -1);
    if (streams[0].revents != 0 && !drain(out_, outcome.out)) streams[0].fd = -1;
    if (streams[1].revents != 0 && !drain(err_, outcome.err)) streams[1].fd = -1;
  }
  int status = 0;
  rusage usage{};
  wait4(pid_, &status, 0, &usage);
  pid_ = -1;
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  outcome.cpu_seconds = seconds(usage.ru_utime) + seconds(usage.ru_stime);
  outcome.peak_bytes = std::int64_t{usage.ru_maxrss} * 1024;
  outcome.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return outcome;
}

Command nf4bench_command(const std::vector<std::string>& arguments) {
  Command command;
  command.arguments = Words{NF4BENCH_BINARY} + arguments;
  return command;
}

Outcome nf4bench(const std::vector<std::string>& arguments) {
  return Process(nf4bench_command(arguments)).wait();
}

Outcome shell(const std::string& line) {
  Command command;
  command.arguments = {"/bin/bash", "-c", line};
  command.environment.emplace_back("NF4BENCH=" NF4BENCH_BINARY);
  return Process(command).wait();
}

std::string sample(const std::string& name) {
  return std::string(NF4BENCH_SOURCE_DIR "/data/") + name;
}

}  // namespace nf4bench::test
