#include "peer/process/peer_process.hpp"

#include "base/error.hpp"
#include "base/terminal.hpp"
#include "base/text.hpp"
#include "peer/process/message.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <fstream>
#include <poll.h>
#include <string_view>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <utility>

namespace nf4bench::peer {
namespace {

constexpr int kLookMs = 50;                   // between two looks at what a process takes
constexpr std::int64_t kShownOutput = 16384;  // on stderr: stdout is for reports
constexpr std::size_t kKeptOutput = 8192;
constexpr std::int64_t kMostOutput = std::int64_t{64} << 20;
constexpr std::size_t kMostQuoted = 200;
constexpr std::chrono::milliseconds kGrace{1000};  // to die after its socket was closed

// What becomes the standard streams and the first files of the process.
struct Files {
  int input = -1;
  int output = -1;
  std::array<int, 3> more = {-1, -1, -1};  // from kSocket on
};

// Between fork and exec only what is safe in a signal handler. Numbers from 10 on are out of the
// way of those that files get.
[[noreturn]] void become_guest(const Files& files, const char* program, pid_t parent) {
  constexpr int kOutOfTheWay = 10;
  constexpr int kNotStarted = 127;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(kNotStarted);
  setpgid(0, 0);
  const rlimit no_core = {0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  const int score = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  [[maybe_unused]] const ssize_t written = write(score, "1000", 4);  // the first to go
  const int input = fcntl(files.input, F_DUPFD, kOutOfTheWay);
  const int output = fcntl(files.output, F_DUPFD, kOutOfTheWay);
  std::array<int, 3> more{};
  for (std::size_t i = 0; i < more.size(); ++i) {
    more[i] = fcntl(files.more[i], F_DUPFD, kOutOfTheWay);
  }
  dup2(input, STDIN_FILENO);
  dup2(output, STDOUT_FILENO);
  dup2(output, STDERR_FILENO);
  for (std::size_t i = 0; i < more.size(); ++i) dup2(more[i], kSocket + static_cast<int>(i));
  constexpr int kFirstUnwanted = kOutputs + 1;
  if (syscall(SYS_close_range, kFirstUnwanted, UINT_MAX, 0) != 0) {
    const long most = std::min(sysconf(_SC_OPEN_MAX), 65536L);
    for (int each = kFirstUnwanted; each < most; ++each) close(each);
  }
  std::array<char, 9> name = {"nf4bench"};
  std::array<char, 13> option = {"--serve-peer"};
  std::array<char*, 3> arguments = {name.data(), option.data(), nullptr};
  execv(program, arguments.data());
  _exit(kNotStarted);
}

// Memory of a process that is not also another's.
std::int64_t own_memory(pid_t process) {
  std::ifstream file(fmt::format("/proc/{}/statm", process));
  std::int64_t all = 0;
  std::int64_t resident = 0;
  std::int64_t shared = 0;
  file >> all >> resident >> shared;
  return (resident - shared) * sysconf(_SC_PAGESIZE);
}

// To its group, and to itself should it have left that.
void signal_all(pid_t process, int signal) {
  kill(-process, signal);
  kill(process, signal);
}

double seconds_of(const timeval& time) {
  return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}

}  // namespace

PeerProcess::PeerProcess(const device::SharedBuffers& buffers, const ProcessLimits& limits)
    : limits_(limits) {
  start(buffers);
}

PeerProcess::~PeerProcess() {
  if (is_running()) end("is not needed any more");
}

void PeerProcess::start(const device::SharedBuffers& buffers) {
  std::array<int, 2> sockets = {-1, -1};
  std::array<int, 2> pipes = {-1, -1};
  const auto [inputs, outputs] = buffers.files();
  const bool are_open = socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets.data()) == 0 &&
                        pipe2(pipes.data(), O_CLOEXEC) == 0;
  socket_ = Descriptor(sockets[0]);
  output_ = Descriptor(pipes[0]);
  const Descriptor its_socket(sockets[1]);
  const Descriptor its_output(pipes[1]);
  const Descriptor its_input(open("/dev/null", O_RDONLY | O_CLOEXEC));
  // What has no files for it gives it two that are empty.
  const std::string path = inputs < 0 ? "/dev/null" : fmt::format("/proc/self/fd/{}", inputs);
  const Descriptor read_only(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  const Files files = {
      its_input.get(),
      its_output.get(),
      {its_socket.get(), read_only.get(), outputs < 0 ? its_input.get() : outputs}};
  const pid_t parent = getpid();
  if (are_open && read_only.is_open()) pid_ = fork();
  if (pid_ == 0) become_guest(files, limits_.program.c_str(), parent);
  if (pid_ < 0) {
    throw Error(ErrorKind::kDevice, "cannot start a process for a peer: {}", std::strerror(errno));
  }
  setpgid(pid_, pid_);
  fcntl(socket_.get(), F_SETFL, O_NONBLOCK);
  fcntl(output_.get(), F_SETFL, O_NONBLOCK);
}

ProcessorTime PeerProcess::processor_time() const {
  if (!is_running()) return {0.0, processor_seconds_};
  ProcessorTime taken;
  clockid_t clock{};
  timespec time{};
  if (clock_getcpuclockid(pid_, &clock) == 0 && clock_gettime(clock, &time) == 0) {
    taken.all_s = static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
  }
  std::ifstream file(fmt::format("/proc/{}/task/{}/schedstat", pid_, pid_));
  if (double ns = 0.0; file >> ns) taken.caller_s = 1e-9 * ns;
  return taken;
}

Exchange PeerProcess::exchange(const std::string& message, double limit_s) {
  if (is_running()) signal_all(pid_, SIGCONT);
  const auto started = Clock::now();
  auto looked = started;
  std::size_t sent = 0;
  std::string answer;
  while (is_running()) {
    const int wanted = POLLIN | (sent < message.size() ? POLLOUT : 0);
    std::array<pollfd, 2> files = {
        {{socket_.get(), static_cast<short>(wanted), 0}, {output_.get(), POLLIN, 0}}};
    poll(files.data(), files.size(), kLookMs);
    if (files[1].revents != 0) read_output();
    if ((files[0].revents & POLLOUT) != 0) send_some(message, sent);
    if ((files[0].revents & ~POLLOUT) != 0 && receive_some(answer)) {
      if (!stop()) break;
      return {answer.substr(sizeof(std::uint32_t)), ""};
    }
    if (Clock::now() - looked < std::chrono::milliseconds(kLookMs)) continue;
    looked = Clock::now();
    end_beyond_limits(started, limit_s);
  }
  return {"", failure_};
}

void PeerProcess::end_beyond_limits(Clock::time_point started, double limit_s) {
  if (!is_running()) return;
  const std::chrono::duration<double> elapsed = Clock::now() - started;
  if (limit_s > 0.0 && elapsed.count() >= limit_s) {
    return end(fmt::format("did not return within {} s", limit_s));
  }
  const std::int64_t taken = own_memory(pid_);
  if (taken > limits_.memory_bytes) {
    return end(fmt::format("takes {:.1f} GB of memory, more than the {:.1f} GB that it may",
                           1e-9 * static_cast<double>(taken),
                           1e-9 * static_cast<double>(limits_.memory_bytes)));
  }
  if (output_bytes_ > kMostOutput) {
    end(fmt::format("writes without end: more than {} MiB", kMostOutput >> 20));
  }
}

void PeerProcess::send_some(const std::string& message, std::size_t& sent) {
  const ssize_t count =
      send(socket_.get(), message.data() + sent, message.size() - sent, MSG_NOSIGNAL);
  if (count > 0) sent += static_cast<std::size_t>(count);
}

// True when the answer is whole.
bool PeerProcess::receive_some(std::string& answer) {
  std::array<char, 65536> bytes{};
  const ssize_t count = recv(socket_.get(), bytes.data(), bytes.size(), 0);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return false;
  if (count <= 0) {
    end("");
    return false;
  }
  answer.append(bytes.data(), static_cast<std::size_t>(count));
  std::uint32_t length = 0;
  if (answer.size() < sizeof(length)) return false;
  std::memcpy(&length, answer.data(), sizeof(length));
  if (length > kMostAnswerBytes || answer.size() > length + sizeof(length)) {
    end("sends what is no answer");
    return false;
  }
  if (answer.size() < length + sizeof(length)) return false;
  MessageReader reader(answer.substr(sizeof(length)));
  if (reader.get<Answer>() != Answer::kLast) return true;
  end(printable(reader.text()));
  return false;
}

void PeerProcess::read_output() {
  std::array<char, 65536> bytes{};
  const ssize_t count = read(output_.get(), bytes.data(), bytes.size());
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (count <= 0) {
    output_ = Descriptor();
    return;
  }
  const std::int64_t shown = std::clamp<std::int64_t>(kShownOutput - output_bytes_, 0, count);
  write_stderr({bytes.data(), static_cast<std::size_t>(shown)});
  output_bytes_ += count;
  if (output_bytes_ > kShownOutput && !std::exchange(is_cut_, true)) {
    write_stderr("\n(the rest of what it writes is not shown)\n");
  }
  kept_output_.append(bytes.data(), static_cast<std::size_t>(count));
  if (kept_output_.size() > kKeptOutput) kept_output_.erase(0, kept_output_.size() - kKeptOutput);
}

// Whether it has stopped, or ended, before `longest` is over.
bool PeerProcess::stands_still_within(Clock::duration longest) {
  constexpr std::chrono::microseconds kLook(20);
  for (const auto given_up = Clock::now() + longest; Clock::now() < given_up;) {
    siginfo_t state{};
    const int options = WSTOPPED | WEXITED | WNOWAIT | WNOHANG;
    if (waitid(P_PID, static_cast<id_t>(pid_), &state, options) != 0) return true;
    if (state.si_pid == 0) {
      std::this_thread::sleep_for(kLook);
      continue;
    }
    if (state.si_code == CLD_STOPPED) {
      waitpid(pid_, nullptr, WUNTRACED | WNOHANG);
    } else {
      end("");
    }
    return true;
  }
  return false;
}

// Stops all threads: none of them is to take a processor from others. One that starts a program
// cannot stop before that has begun, which is stopped as well: so all go on for a moment, and then
// there is another try. False, and the process is ended, when nothing helps.
bool PeerProcess::stop() {
  constexpr int kTries = 9;
  std::chrono::milliseconds turn(10);
  for (int i = 0; i < kTries; ++i, turn *= 2) {
    signal_all(pid_, SIGSTOP);
    if (stands_still_within(turn)) return true;
    signal_all(pid_, SIGCONT);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  end("cannot be stopped between its calls, as a thread of it waits for a child of vfork()");
  return false;
}

// Notes why the process ends, which is `why`, or what it did itself, and sees to it that it does.
void PeerProcess::end(const std::string& why) {
  int status = 0;
  rusage usage{};
  pid_t ended = 0;
  for (auto waited = Clock::now() + kGrace; why.empty() && ended == 0 && Clock::now() < waited;) {
    ended = wait4(pid_, &status, WNOHANG, &usage);
    if (ended == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  signal_all(pid_, SIGKILL);
  if (ended == 0) wait4(pid_, &status, 0, &usage);
  pid_ = -1;
  processor_seconds_ = seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime);
  for (int reads = 0; output_.is_open() && reads < 64; ++reads) read_output();
  failure_ = (why.empty() ? how_it_ended(status) : why) + last_words();
}

std::string PeerProcess::how_it_ended(int status) {
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) {
    return "was killed (signal 9), as the system does when there is no memory left, or closed the "
           "connection to nf4bench";
  }
  if (WIFSIGNALED(status)) {
    return fmt::format("crashed: signal {} ({})", WTERMSIG(status), strsignal(WTERMSIG(status)));
  }
  return fmt::format("ended its process with exit code {}, which a peer must not",
                     WEXITSTATUS(status));
}

// The last line that it wrote to stdout or stderr.
std::string PeerProcess::last_words() const {
  std::string_view text = kept_output_;
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.remove_suffix(1);
  const std::size_t newline = text.rfind('\n');
  if (newline != std::string_view::npos) text.remove_prefix(newline + 1);
  if (text.empty()) return "";
  return fmt::format("; the last that it wrote: {}",
                     printable(std::string(text.substr(0, kMostQuoted))));
}

}  // namespace nf4bench::peer
