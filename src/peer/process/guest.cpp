#include "base/error.hpp"
#include "base/kept_thread.hpp"
#include "device/buffer_sets.hpp"
#include "device/cpu/cpu_executor.hpp"
#include "device/cpu/shared_arena.hpp"
#include "operation/operation.hpp"
#include "peer/peers.hpp"
#include "peer/process/message.hpp"
#include "peer/process/peer_process.hpp"

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <thread>
#include <tuple>
#include <unistd.h>
#include <utility>
#include <vector>

namespace nf4bench::peer {
namespace {

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

  char* base() const { return base_; }

  // Enters what is in use into the tables of pages, so that no call pays for that. With another
  // number of beginnings all of it is new.
  void enter(const device::ArenaUse& use) {
    if (use.beginnings != beginnings_) entered_ = 0;
    beginnings_ = use.beginnings;
    for (; entered_ < static_cast<std::size_t>(use.used); entered_ += kPage) {
      static_cast<void>(*const_cast<volatile char*>(base_ + entered_));
    }
  }

 private:
  char* base_ = nullptr;
  std::size_t entered_ = 0;
  std::uint64_t beginnings_ = 0;
};

// The CPU device, whose time the one that asks can read.
class CpuGuest final : public device::GuestDevice {
 public:
  CpuGuest(const std::string& introduction, int threads)
      : inputs_(kInputs, device::value_in<std::int64_t>(introduction, 0), PROT_READ),
        outputs_(kOutputs, device::value_in<std::int64_t>(introduction, 1), PROT_READ | PROT_WRITE),
        executor_(device::make_cpu_executor(threads)) {
    inputs_begin = reinterpret_cast<std::uintptr_t>(inputs_.base());
    inputs_end = inputs_begin + device::value_in<std::uintptr_t>(introduction, 0);
  }

  void hear(const std::string& news) override {
    inputs_.enter(device::value_in<device::ArenaUse>(news, 0));
    outputs_.enter(device::value_in<device::ArenaUse>(news, 1));
  }
  void let_go(std::uint64_t) override {}
  void* address_of(std::uint64_t place) const override {
    if (place == 0) return nullptr;
    if (place > device::kOutputPlaces) return outputs_.base() + (place - device::kOutputPlaces - 1);
    return inputs_.base() + (place - 1);
  }
  CUstream_st* stream() const override { return nullptr; }
  void run(const char* what, const std::function<void()>& calls) override {
    executor_->run(what, calls);
  }
  void wait_for_others() override { std::this_thread::sleep_for(device::kPatience); }
  bool is_broken() const override { return false; }
  void prepare(const device::Calls&, const device::SampleSpec&) override { refuse(); }
  device::Sample take(const device::Calls&, const device::SampleSpec&, const device::CallRange&,
                      const std::vector<device::OutputCopy>&) override {
    refuse();
  }
  double repeat(const device::Calls&, const device::SampleSpec&,
                const std::vector<device::CallRange>&) override {
    refuse();
  }
  void forget_calls() override {}

 private:
  [[noreturn]] static void refuse() {
    throw Error(ErrorKind::kDevice, "the process of a peer times nothing on the CPU device");
  }

  Mapping inputs_;
  Mapping outputs_;
  std::unique_ptr<device::Executor> executor_;
};

// Those of this program.
std::vector<kernels::Variant> own_variants(const PeerHost& host) {
  for (const operation::Operation& each : operation::operations()) {
    if (each.name == host.operation) return each.catalog(host.kind).variants;
  }
  return {};
}

// The calls of a variant that samples are of.
struct PreparedCalls {
  std::vector<kernels::Job> jobs;  // by place_of()
  std::string config;
  kernels::Launch launch;
  device::Calls calls;
};

class Guest {
 public:
  // Returns when there are no more messages.
  void serve();

 private:
  using SampleKey =
      std::tuple<std::uint32_t, record::CacheMode, record::LaunchMode, int>;  // variant and spec

  void answer(Request request, MessageReader& message, MessageWriter& reply);
  void load(MessageReader& message, MessageWriter& reply);
  void ask(MessageReader& message, MessageWriter& reply) const;
  void let_go(MessageReader& message);
  void prepare(MessageReader& message);
  void launch(MessageReader& message, MessageWriter& reply);
  void prepare_sample(MessageReader& message);
  void sample(MessageReader& message, MessageWriter& reply);
  void repeat(MessageReader& message, MessageWriter& reply);
  const kernels::Variant& variant(MessageReader& message) const;
  kernels::Launch begin(MessageReader& message, std::string& config);
  std::vector<kernels::Job> jobs(MessageReader& message) const;
  const device::Calls& calls(MessageReader& message, device::SampleSpec& spec);
  void forget_calls();

  std::unique_ptr<device::GuestDevice> device_;
  std::deque<std::string> strings_;  // of the variants
  std::vector<kernels::Variant> variants_;
  std::uintptr_t workload_ = 0;  // whose calls are prepared
  std::map<SampleKey, PreparedCalls> prepared_;
};

void Guest::serve() {
  while (const std::optional<std::string> bytes = receive_message()) {
    MessageReader message(*bytes);
    MessageWriter reply;
    try {
      reply.add(Answer::kDone);
      answer(message.get<Request>(), message, reply);
    } catch (const std::exception& error) {
      const bool is_last = device_ && device_->is_broken();
      reply = MessageWriter();
      reply.add(is_last ? Answer::kLast : Answer::kError).add(std::string(error.what()));
    }
    if (is_copy) _exit(0);
    if (!send_all(reply.finish())) return;
  }
}

void Guest::answer(Request request, MessageReader& message, MessageWriter& reply) {
  if (request == Request::kLoad) return load(message, reply);
  if (request == Request::kAsk) return ask(message, reply);
  if (request == Request::kHear) return device_->hear(message.text());
  if (request == Request::kLetGo) return let_go(message);
  if (request == Request::kPrepare) return prepare(message);
  if (request == Request::kPrepareSample) return prepare_sample(message);
  if (request == Request::kSample) return sample(message, reply);
  if (request == Request::kRepeat) return repeat(message, reply);
  launch(message, reply);
}

// Of a peer, or of this program's own variants where the argument is empty.
void Guest::load(MessageReader& message, MessageWriter& reply) {
  const auto sharing = message.get<device::Sharing>();
  const std::string introduction = message.text();
  const std::string news = message.text();
  const PeerArgument argument = {message.text(), message.text(), message.text()};
  PeerHost host;
  host.kind = message.get<record::DeviceKind>();
  host.operation = message.text();
  host.compute_capability = message.get<int>();
  host.tools = cuda_tools();
  const auto threads = message.get<int>();
  if (sharing == device::Sharing::kHandles) {
    device_ = device::make_cuda_guest(introduction);
  } else {
    device_ = std::make_unique<CpuGuest>(introduction, threads);
  }
  device_->hear(news);
  const KeptThread thread;
  variants_ = argument.path.empty() ? own_variants(host) : load_here(argument, host, strings_);
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
kernels::Launch Guest::begin(MessageReader& message, std::string& config) {
  kernels::Launch launch;
  launch.stream = device_->stream();
  launch.device = message.get<kernels::DeviceFacts>();
  config = message.text();
  launch.config = config.empty() ? nullptr : config.c_str();
  return launch;
}

std::vector<kernels::Job> Guest::jobs(MessageReader& message) const {
  auto jobs = message.all<kernels::Job>();
  for (kernels::Job& job : jobs) {
    change_addresses(job, [this](std::uintptr_t place) {
      return reinterpret_cast<std::uintptr_t>(device_->address_of(place));
    });
  }
  return jobs;
}

void Guest::let_go(MessageReader& message) {
  forget_calls();
  device_->let_go(message.get<std::uint64_t>());
}

void Guest::forget_calls() {
  device_->forget_calls();
  prepared_.clear();
}

void Guest::prepare(MessageReader& message) {
  const kernels::Variant& prepared = variant(message);
  std::string config;
  const kernels::Launch launch = begin(message, config);
  const kernels::Job job = jobs(message).at(0);
  KeptThread thread;
  device_->run("prepare", [&] { prepared.prepare(job, launch); });
  thread.require_same_mode();
}

void Guest::launch(MessageReader& message, MessageWriter& reply) {
  const kernels::Variant& launched = variant(message);
  std::string config;
  const kernels::Launch launch = begin(message, config);
  const std::vector<kernels::Job> known = jobs(message);
  const auto turns = message.all<std::uint32_t>();
  std::chrono::duration<double> elapsed{};
  KeptThread thread;
  device_->run("launch the kernel", [&] {
    const auto start = std::chrono::steady_clock::now();
    for (const std::uint32_t turn : turns) {
      const kernels::Job& each = known.at(turn);
      if (each.elements > 0) launched.launch(each, launch);
      if (is_copy) _exit(0);
    }
    elapsed = std::chrono::steady_clock::now() - start;
  });
  thread.require_same_mode();
  if (turns.empty()) device_->wait_for_others();
  reply.add(elapsed.count());
}

// Calls that are prepared for another workload have addresses that mean nothing to this one.
void Guest::prepare_sample(MessageReader& message) {
  const auto index = message.get<std::uint32_t>();
  const kernels::Variant& timed = variants_.at(index);
  PreparedCalls made;
  made.launch = begin(message, made.config);
  const auto spec = message.get<device::SampleSpec>();
  const auto workload = message.get<std::uintptr_t>();
  made.calls.sets = message.get<std::size_t>();
  made.calls.foreign_lines = message.get<device::ForeignLines>();
  made.jobs = jobs(message);
  const SampleKey key = {index, spec.cache, spec.launch, spec.launches};
  if (std::exchange(workload_, workload) != workload || prepared_.contains(key)) forget_calls();
  PreparedCalls& kept = prepared_[key];
  kept = std::move(made);
  kept.launch.config = kept.config.empty() ? nullptr : kept.config.c_str();
  kept.calls.name = timed.name;
  kept.calls.make = [&kept, &timed](const device::CallRange& range) {
    for (int i = range.from; i < range.count; ++i) {
      const std::size_t place =
          device::place_of(kept.calls.sets, range, static_cast<std::size_t>(i));
      if (kept.jobs.at(place).elements > 0) timed.launch(kept.jobs[place], kept.launch);
      if (is_copy) _exit(0);
    }
  };
  KeptThread thread;
  device_->prepare(kept.calls, spec);
  thread.require_same_mode();
}

// Reads of which calls samples are to be taken.
const device::Calls& Guest::calls(MessageReader& message, device::SampleSpec& spec) {
  const auto index = message.get<std::uint32_t>();
  std::string config;
  begin(message, config);
  spec = message.get<device::SampleSpec>();
  return prepared_.at({index, spec.cache, spec.launch, spec.launches}).calls;
}

void Guest::sample(MessageReader& message, MessageWriter& reply) {
  device::SampleSpec spec;
  const device::Calls& timed = calls(message, spec);
  const auto range = message.get<device::CallRange>();
  std::vector<device::OutputCopy> copies(message.get<std::uint32_t>());
  for (device::OutputCopy& copy : copies) {
    copy.from = static_cast<std::byte*>(device_->address_of(message.get<std::uint64_t>()));
    copy.to = static_cast<std::byte*>(device_->address_of(message.get<std::uint64_t>()));
    copy.bytes = message.get<std::int64_t>();
  }
  KeptThread thread;
  const device::Sample taken = device_->take(timed, spec, range, copies);
  thread.require_same_mode();
  reply.add(taken);
}

void Guest::repeat(MessageReader& message, MessageWriter& reply) {
  device::SampleSpec spec;
  const device::Calls& timed = calls(message, spec);
  const auto ranges = message.all<device::CallRange>();
  KeptThread thread;
  const double seconds = device_->repeat(timed, spec, ranges);
  thread.require_same_mode();
  reply.add(seconds);
}

}  // namespace

int serve_peer() {
  struct sigaction action {};
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO;
  sigemptyset(&action.sa_mask);
  // What a kernel prints is a pipe's, which would keep its lines to itself until it ends.
  std::setvbuf(stdout, nullptr, _IOLBF, BUFSIZ);
  for (const int fault : {SIGSEGV, SIGBUS}) sigaction(fault, &action, nullptr);
  pthread_atfork(nullptr, nullptr, [] { is_copy = true; });
  Guest().serve();
  return 0;
}

}  // namespace nf4bench::peer
