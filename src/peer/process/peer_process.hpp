#pragma once

#include "base/file_lock.hpp"
#include "base/memory.hpp"
#include "device/shared_buffers.hpp"
#include "peer/process/second_clock.hpp"

#include <chrono>
#include <string>
#include <sys/types.h>

namespace nf4bench::peer {

// What a peer's process may take.
struct ProcessLimits {
  double load_s = 600.0;                                  // until it is loaded
  double call_s = 300.0;                                  // a call; 0: for ever
  std::int64_t memory_bytes = usable_memory_bytes() / 2;  // of its own
  std::string program = "/proc/self/exe";
};

// What came of a message.
struct Exchange {
  std::string answer;   // without its length; empty when the process has ended
  std::string failure;  // how and why it has ended, then
};

// A process of this program that holds a peer (see serve_peer()). It works while it is to answer,
// and is stopped with all its threads in between. It has streams, a process group and limits of its
// own, and none of this process's files.
class PeerProcess {
 public:
  // Throws Error(kDevice) when no process can be started.
  PeerProcess(const device::SharedBuffers& buffers, const ProcessLimits& limits);
  PeerProcess(const PeerProcess&) = delete;
  PeerProcess& operator=(const PeerProcess&) = delete;
  ~PeerProcess();

  bool is_running() const { return pid_ > 0; }

  // Sends `message` and waits for the answer, `limit_s` at most (0: for ever). After a failure
  // there is no process any more.
  Exchange exchange(const std::string& message, double limit_s);

  // Processor time so far. That of the thread that makes calls is 0 where the system does not tell,
  // and once the process has ended.
  ProcessorTime processor_time() const;

 private:
  using Clock = std::chrono::steady_clock;

  void start(const device::SharedBuffers& buffers);
  void end_beyond_limits(Clock::time_point started, double limit_s);
  void send_some(const std::string& message, std::size_t& sent);
  bool receive_some(std::string& answer);
  void read_output();
  bool stands_still_within(Clock::duration longest);
  bool stop();
  void end(const std::string& why);
  static std::string how_it_ended(int status);
  std::string last_words() const;

  ProcessLimits limits_;
  pid_t pid_ = -1;
  Descriptor socket_;
  Descriptor output_;
  std::string kept_output_;
  std::int64_t output_bytes_ = 0;
  bool is_cut_ = false;  // the output, and that was said
  std::string failure_;
  double processor_seconds_ = 0.0;  // once it has ended
};

// The argument that makes this program the process of a peer.
inline constexpr const char* kServePeer = "--serve-peer";

// The main function of such a process, in guest.cpp: loads the peer that it is told to load, and
// calls its variants, until its socket is closed. Returns the exit code.
int serve_peer();

}  // namespace nf4bench::peer
