#include "peer/process/guest.hpp"

#include "base/error.hpp"
#include "base/kept_thread.hpp"
#include "device/cpu/cpu_executor.hpp"
#include "device/cpu/shared_arena.hpp"
#include "peer/peers.hpp"
#include "peer/process/message.hpp"

#include <cerrno>
#include <chrono>
#include <csignal>
#include <deque>
#include <memory>
#include <optional>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace nf4bench::peer {
namespace {

// What is left to other threads gets so much time to be done.
constexpr std::chrono::milliseconds kPatience{4};

constexpr std::size_t kPage = 4096;

// The part of the buffers that may only be read. A signal handler can reach only globals.
std::uintptr_t inputs_begin = 0;
std::uintptr_t inputs_end = 0;

// True in a copy of this process that a call has made, which is not to answer, too.
volatile bool is_copy = false;

bool send_all(const std::string& bytes) {
  for (std::size_t sent = 0; sent < bytes.size();) {
    const ssize_t count = send(kSocket, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    sent += static_cast<std::size_t>(count);
  }
  return true;
}

bool receive(char* bytes, std::size_t count) {
  for (std::size_t got = 0; got < count;) {
    const ssize_t more = recv(kSocket, bytes + got, count - got, 0);
    if (more < 0 && errno == EINTR) continue;
    if (more <= 0) return false;
    got += static_cast<std::size_t>(more);
  }
  return true;
}

// A message, or none when the other side is gone.
std::optional<std::string> receive_message() {
  std::uint32_t length = 0;
  if (!receive(reinterpret_cast<char*>(&length), sizeof(length))) return std::nullopt;
  if (length > kMostMessageBytes) return std::nullopt;
  std::string bytes(length, '\0');
  if (!receive(bytes.data(), length)) return std::nullopt;
  return bytes;
}

// Says last words that the signal alone does not tell, and dies of it.
void on_fault(int number, siginfo_t* info, void*) {
  static constexpr char kWords[] = "wrote into its inputs, which are to be read only";
  const auto address = reinterpret_cast<std::uintptr_t>(info->si_addr);
  if (address >= inputs_begin && address < inputs_end) {
    struct {
      std::uint32_t length = sizeof(Answer) + sizeof(std::uint32_t) + sizeof(kWords) - 1;
      Answer kind = Answer::kLast;
      std::uint32_t text_length = sizeof(kWords) - 1;
    } head;
    send(kSocket, &head, sizeof(head), MSG_NOSIGNAL);
    send(kSocket, kWords, sizeof(kWords) - 1, MSG_NOSIGNAL);
  }
  std::signal(number, SIG_DFL);
  raise(number);
}

// A part of the buffers in this process.
class Mapping {
 public:
  Mapping(int descriptor, std::int64_t bytes, int protection) {
    void* const mapped = mmap(nullptr, static_cast<std::size_t>(bytes), protection,
                              MAP_SHARED | MAP_NORESERVE, descriptor, 0);
    if (mapped == MAP_FAILED) {
      throw Error(ErrorKind::kInput, "its process cannot map the buffers; use --in-process");
    }
    base_ = static_cast<char*>(mapped);
    device::use_usual_pages(mapped, bytes);
  }

  std::uintptr_t base() const { return reinterpret_cast<std::uintptr_t>(base_); }

  // Enters what lies before `used` into the tables of pages, so that no call pays for that. With
  // another number of `beginnings` all of it is new.
  void enter(std::int64_t used, std::uint64_t beginnings) {
    if (beginnings != beginnings_) entered_ = 0;
    beginnings_ = beginnings;
    for (; entered_ < static_cast<std::size_t>(used); entered_ += kPage) {
      static_cast<void>(*const_cast<volatile char*>(base_ + entered_));
    }
  }

 private:
  char* base_ = nullptr;
  std::size_t entered_ = 0;
  std::uint64_t beginnings_ = 0;
};

class Guest {
 public:
  // Returns when there are no more messages.
  void serve();

 private:
  void answer(Request request, MessageReader& message, MessageWriter& reply);
  void load(MessageReader& message, MessageWriter& reply);
  void ask(MessageReader& message, MessageWriter& reply) const;
  void prepare(MessageReader& message);
  void launch(MessageReader& message, MessageWriter& reply);
  const kernels::Variant& variant(MessageReader& message) const;
  kernels::Launch begin(MessageReader& message);
  kernels::Job job(MessageReader& message) const;

  std::unique_ptr<Mapping> inputs_;
  std::unique_ptr<Mapping> outputs_;
  std::deque<std::string> strings_;  // of the variants
  std::vector<kernels::Variant> variants_;
  std::unique_ptr<device::Executor> executor_;
};

void Guest::serve() {
  while (const std::optional<std::string> bytes = receive_message()) {
    MessageReader message(*bytes);
    MessageWriter reply;
    try {
      reply.add(Answer::kDone);
      answer(message.get<Request>(), message, reply);
    } catch (const std::exception& error) {
      reply = MessageWriter();
      reply.add(Answer::kError).add(std::string(error.what()));
    }
    if (is_copy) _exit(0);
    if (!send_all(reply.finish())) return;
  }
}

void Guest::answer(Request request, MessageReader& message, MessageWriter& reply) {
  if (request == Request::kLoad) return load(message, reply);
  if (request == Request::kAsk) return ask(message, reply);
  if (request == Request::kPrepare) return prepare(message);
  launch(message, reply);
}

void Guest::load(MessageReader& message, MessageWriter& reply) {
  const auto inputs = message.get<std::int64_t>();
  const auto outputs = message.get<std::int64_t>();
  inputs_ = std::make_unique<Mapping>(kInputs, inputs, PROT_READ);
  outputs_ = std::make_unique<Mapping>(kOutputs, outputs, PROT_READ | PROT_WRITE);
  inputs_begin = inputs_->base();
  inputs_end = inputs_begin + static_cast<std::uintptr_t>(inputs);
  const PeerArgument argument = {message.text(), message.text()};
  PeerHost host;
  host.kind = message.get<record::DeviceKind>();
  host.operation = message.text();
  host.compute_capability = message.get<int>();
  host.tools = cuda_tools();
  executor_ = device::make_cpu_executor(message.get<int>());
  const KeptThread thread;
  variants_ = load_here(argument, host, strings_);
  reply.add(static_cast<std::uint32_t>(variants_.size()));
  for (const kernels::Variant& each : variants_) {
    kernels::Traits traits = each.traits;
    reply.add(std::string(each.name)).add(std::string(each.summary));
    reply.add(std::string(traits.mirrors)).add(std::string(traits.compiled_from));
    traits.mirrors = traits.compiled_from = traits.peer = nullptr;
    reply.add(traits).add(static_cast<bool>(each.prepare));
  }
}

const kernels::Variant& Guest::variant(MessageReader& message) const {
  return variants_.at(message.get<std::uint32_t>());
}

// Whether a variant can do a problem, and what memory it needs for that.
void Guest::ask(MessageReader& message, MessageWriter& reply) const {
  const kernels::Variant& asked = variant(message);
  const auto problem = message.get<kernels::Problem>();
  kernels::Launch launch;
  launch.device = message.get<kernels::DeviceFacts>();
  const char* const reason = why_unsupported(asked, problem, launch.device);
  reply.add(std::string(reason == nullptr ? "" : reason));
  reply.add(reason == nullptr ? workspace_of(asked, problem, launch) : std::int64_t{0});
  reply.add(reason == nullptr ? prepared_of(asked, problem) : std::int64_t{0});
}

// What messages of calls begin with.
kernels::Launch Guest::begin(MessageReader& message) {
  for (Mapping* const part : {inputs_.get(), outputs_.get()}) {
    const auto used = message.get<std::int64_t>();
    part->enter(used, message.get<std::uint64_t>());
  }
  kernels::Launch launch;
  launch.device = message.get<kernels::DeviceFacts>();
  return launch;
}

kernels::Job Guest::job(MessageReader& message) const {
  auto job = message.get<kernels::Job>();
  change_addresses(job, [this](std::uintptr_t place) -> std::uintptr_t {
    if (place == 0) return 0;
    if (place >= kInOutputs) return outputs_->base() + (place - kInOutputs - 1);
    return inputs_->base() + (place - 1);
  });
  return job;
}

void Guest::prepare(MessageReader& message) {
  const kernels::Variant& prepared = variant(message);
  const kernels::Launch launch = begin(message);
  const kernels::Job prepared_job = job(message);
  KeptThread thread;
  executor_->run("prepare", [&] { prepared.prepare(prepared_job, launch); });
  thread.require_same_mode();
}

void Guest::launch(MessageReader& message, MessageWriter& reply) {
  const kernels::Variant& launched = variant(message);
  const kernels::Launch launch = begin(message);
  std::vector<kernels::Job> jobs(message.get<std::uint32_t>());
  for (kernels::Job& each : jobs) each = job(message);
  std::chrono::duration<double> elapsed{};
  KeptThread thread;
  executor_->run("launch", [&] {
    const auto start = std::chrono::steady_clock::now();
    for (const kernels::Job& each : jobs) {
      if (each.elements > 0) launched.launch(each, launch);
      if (is_copy) _exit(0);
    }
    elapsed = std::chrono::steady_clock::now() - start;
  });
  thread.require_same_mode();
  if (jobs.empty()) std::this_thread::sleep_for(kPatience);
  reply.add(elapsed.count());
}

}  // namespace

int serve_peer() {
  struct sigaction action {};
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO;
  sigemptyset(&action.sa_mask);
  for (const int fault : {SIGSEGV, SIGBUS}) sigaction(fault, &action, nullptr);
  pthread_atfork(nullptr, nullptr, [] { is_copy = true; });
  Guest().serve();
  return 0;
}

}  // namespace nf4bench::peer
