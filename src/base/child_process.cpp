#include "base/child_process.hpp"

#include "base/file_lock.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <deque>
#include <fcntl.h>
#include <filesystem>
#include <optional>
#include <poll.h>
#include <sstream>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>
#include <utility>

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

// A file in memory that holds `text`, to be read from its beginning. Closed where that fails, or
// where there is no text.
Descriptor file_with(const std::string& text) {
  if (text.empty()) return Descriptor();
  Descriptor file(memfd_create("input", MFD_CLOEXEC));
  const auto size = static_cast<ssize_t>(text.size());
  if (!file.is_open() || pwrite(file.get(), text.data(), text.size(), 0) != size) {
    return Descriptor();
  }
  return file;
}

// What a process reads, what it writes to its two streams, and whose group it is in.
struct Channels {
  Descriptor in;
  bool has_input = false;
  bool leads_group = false;
  Pipe out;
  Pipe err;
  pid_t parent = getpid();

  explicit Channels(const ChildCommand& command)
      : in(file_with(command.input)),
        has_input(!command.input.empty()),
        leads_group(command.leads_group) {}

  bool are_open() const {
    return out.writer.is_open() && err.writer.is_open() && in.is_open() == has_input;
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

using Clock = std::chrono::steady_clock;
using Taker = std::function<void(std::string_view)>;

// Passes on what can be read; false at the end of the stream.
bool drain(int stream, const Taker& take) {
  std::array<char, 65536> bytes{};
  const ssize_t count = read(stream, bytes.data(), bytes.size());
  if (count < 0) return errno == EINTR;
  if (count > 0) take({bytes.data(), static_cast<std::size_t>(count)});
  return count > 0;
}

// Between fork and exec only what is safe in a signal handler: other threads may hold any lock.
[[noreturn]] void become(const char* program, char* const* arguments, char* const* environment,
                         const Channels& channels) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != channels.parent) _exit(kNotStarted);  // it died before it could be asked for
  if (channels.leads_group) setpgid(0, 0);
  if (channels.has_input) dup2(channels.in.get(), STDIN_FILENO);
  dup2(channels.out.writer.get(), STDOUT_FILENO);
  dup2(channels.err.writer.get(), STDERR_FILENO);
  execvpe(program, arguments, environment);  // a path is taken as it is
  _exit(kNotStarted);
}

// A process that was started, until it has ended and all that it wrote was read.
class Child {
 public:
  Child(const ChildCommand& command, Taker on_err);
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  bool is_running() const { return pid_ > 0; }
  pollfd out() const { return {out_.get(), POLLIN, 0}; }
  pollfd err() const { return {err_.get(), POLLIN, 0}; }

  // Reads what is there, and notes the end of the process.
  void look();

  // Ends it: with `signal`, and by force after `grace_s`. Later calls change nothing.
  void stop(int signal, double grace_s);
  void stop_if_silent(const ChildWatch& watch);

  ChildOutcome take() { return std::move(outcome_); }

 private:
  bool read_some();
  void send(int signal) const { kill(leads_group_ ? -pid_ : pid_, signal); }

  pid_t pid_ = -1;
  bool leads_group_ = false;
  Descriptor out_;
  Descriptor err_;
  Taker on_err_;
  ChildOutcome outcome_;
  Clock::time_point heard_at_ = Clock::now();
  std::optional<Clock::time_point> killed_at_;  // or to be killed
};

Child::Child(const ChildCommand& command, Taker on_err) : on_err_(std::move(on_err)) {
  std::vector<std::string> words = command.arguments;
  std::vector<std::string> settings = environment_with(command.environment);
  const std::vector<char*> arguments = pointers(words);
  const std::vector<char*> environment = pointers(settings);
  Channels channels(command);
  pid_ = channels.are_open() ? fork() : -1;
  const char* const program = command.is_this_program ? "/proc/self/exe" : words.front().c_str();
  if (pid_ == 0) become(program, arguments.data(), environment.data(), channels);
  // Here, too: whichever of the two comes first, no signal misses the group.
  leads_group_ = command.leads_group && pid_ > 0;
  if (leads_group_) setpgid(pid_, pid_);
  outcome_.exit_code = kNotStarted;
  out_ = std::move(channels.out.reader);
  err_ = std::move(channels.err.reader);
}

Child::~Child() {
  if (!is_running()) return;
  send(SIGKILL);
  waitpid(pid_, nullptr, 0);
}

// Whether there was something to read.
bool Child::read_some() {
  std::array<pollfd, 2> streams = {out(), err()};
  if (poll(streams.data(), streams.size(), 0) <= 0) return false;
  const Taker keep = [this](std::string_view bytes) { outcome_.out += bytes; };
  const bool has_out = streams[0].revents != 0;
  const bool has_err = streams[1].revents != 0;
  if (has_out && !drain(out_.get(), keep)) out_ = Descriptor();
  if (has_err && !drain(err_.get(), on_err_)) err_ = Descriptor();
  heard_at_ = Clock::now();
  return has_out || has_err;
}

// Processes that it left behind may hold its streams open, so their end is not waited for.
void Child::look() {
  if (!is_running()) return;
  int status = 0;
  const bool has_ended = waitpid(pid_, &status, WNOHANG) == pid_;
  while (read_some() && has_ended) {
  }
  if (!has_ended && killed_at_ && Clock::now() > *killed_at_) send(SIGKILL);
  if (!has_ended) return;
  if (leads_group_) send(SIGKILL);
  pid_ = -1;
  outcome_.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

void Child::stop(int signal, double grace_s) {
  if (!is_running() || killed_at_) return;
  send(signal);
  killed_at_ = Clock::now() +
               std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(grace_s));
}

void Child::stop_if_silent(const ChildWatch& watch) {
  const std::chrono::duration<double> silence = Clock::now() - heard_at_;
  if (watch.silence_s <= 0.0 || killed_at_ || silence.count() < watch.silence_s) return;
  outcome_.was_silent = true;
  stop(SIGTERM, watch.grace_of_the_silent_s);
}

}  // namespace

std::string program_on_path(const std::string& name) {
  const char* const path = std::getenv("PATH");
  std::istringstream folders(path == nullptr ? "" : path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    std::error_code error;
    const std::filesystem::path file = std::filesystem::path(folder) / name;
    if (!folder.empty() && std::filesystem::is_regular_file(file, error)) return file.string();
  }
  return "";
}

std::vector<ChildOutcome> run_children(const std::vector<ChildCommand>& commands,
                                       const ChildWatch& watch) {
  std::vector<ChildOutcome> outcomes(commands.size());
  std::deque<Child> children;
  for (std::size_t i = 0; i < commands.size(); ++i) {
    children.emplace_back(commands[i], [&watch, &outcomes, i](std::string_view bytes) {
      if (watch.on_err) {
        watch.on_err(i, bytes);
      } else {
        outcomes[i].err += bytes;
      }
    });
  }
  const auto is_running = [](const Child& child) { return child.is_running(); };
  while (std::ranges::any_of(children, is_running)) {
    std::vector<pollfd> streams;
    for (const Child& child : children) {
      if (!child.is_running()) continue;
      streams.push_back(child.out());
      streams.push_back(child.err());
    }
    poll(streams.data(), streams.size(), kNapMs);
    for (Child& child : children) {
      if (watch.interrupted.load()) child.stop(watch.stop_signal(), watch.grace_s);
      child.look();
      if (child.is_running()) child.stop_if_silent(watch);
    }
  }
  for (std::size_t i = 0; i < commands.size(); ++i) {
    std::string err = std::move(outcomes[i].err);
    outcomes[i] = children[i].take();
    outcomes[i].err = std::move(err);
  }
  return outcomes;
}

}  // namespace nf4bench
