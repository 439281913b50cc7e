#include "peer/process/remote.hpp"

#include "base/error.hpp"
#include "base/parallel.hpp"
#include "base/text.hpp"
#include "peer/python/python_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace nf4bench::peer {
namespace {

// What a broken process may have made of a text.
constexpr std::size_t kMostChars = 1000;
constexpr std::uint32_t kMostOffers = 1000;
// A machine may stand still between two readings: what cannot be true is asked again.
constexpr int kTries = 5;

constexpr double kStartPythonS = 60.0;  // besides the import of the file, which ends itself

std::string bounded(const std::string& text) {
  return printable(text.substr(0, kMostChars));
}

struct JobsInTurn {
  std::vector<kernels::Job> jobs;
  std::vector<std::uint32_t> turns;  // for each call, its job's place in `jobs`
};

// `calls` with each job once: reading one takes longer than a short call. Bytes between members may
// differ: such a job is there twice.
JobsInTurn in_turn(const std::vector<kernels::Job>& calls) {
  JobsInTurn made;
  std::unordered_map<std::string_view, std::uint32_t> places;
  for (const kernels::Job& call : calls) {
    const std::string_view bytes(reinterpret_cast<const char*>(&call), sizeof(call));
    const auto next = static_cast<std::uint32_t>(made.jobs.size());
    const auto [place, is_new] = places.emplace(bytes, next);
    if (is_new) made.jobs.push_back(call);
    made.turns.push_back(place->second);
  }
  return made;
}

template <class T>
T whole_answer(MessageReader reply) {
  const auto answer = reply.get<T>();
  if (!reply.is_whole()) throw Error(ErrorKind::kDevice, "its process sends what is no answer");
  return answer;
}

}  // namespace

Remote::Remote(const PeerArgument& argument, const PeerHost& host)
    : argument_(argument), host_(host) {
  try {
    start();
  } catch (const Error& error) {
    throw Error(ErrorKind::kInput, error.what());
  }
  host_.shared->add_user(*this);
}

Remote::~Remote() {
  host_.shared->remove_user(*this);
}

double Remote::processor_seconds() const {
  return earlier_seconds_ + (process_ ? process_->processor_time().all_s : 0.0);
}

// Throws Error(kDevice) when it cannot be loaded, or has something else to offer than the last
// time.
void Remote::start() {
  const device::SharedBuffers& buffers = *host_.shared;
  if (process_) earlier_seconds_ += process_->processor_time().all_s;
  process_ = std::make_unique<PeerProcess>(buffers, host_.limits);
  known_ = 0;
  prepared_.clear();
  MessageWriter message;
  message.add(Request::kLoad).add(buffers.sharing());
  heard_ = buffers.news(known_);
  message.add(buffers.introduction()).add(heard_);
  message.add(argument_.name).add(argument_.path).add(argument_.source);
  message.add(host_.kind).add(host_.operation);
  message.add(host_.compute_capability).add(host_.threads);
  const double load_s =
      is_python_file(argument_.path) ? import_limit_s() + kStartPythonS : host_.limits.load_s;
  const Exchange exchange = process_->exchange(message.finish(), load_s);
  if (!exchange.failure.empty()) {
    throw Error(ErrorKind::kDevice, "while it was loaded, it {}", exchange.failure);
  }
  MessageReader reply(exchange.answer);
  if (reply.get<Answer>() != Answer::kDone) throw Error(ErrorKind::kDevice, bounded(reply.text()));
  std::deque<Offer> offers(std::min<std::uint32_t>(reply.get<std::uint32_t>(), kMostOffers));
  for (Offer& offer : offers) {
    for (std::string* const text :
         {&offer.name, &offer.summary, &offer.mirrors, &offer.compiled_from}) {
      *text = bounded(reply.text());
    }
    offer.traits = reply.get<kernels::Traits>();
    offer.has_prepare = reply.get<bool>();
    offer.clock = SecondClock(host_.threads > 0 ? host_.threads : hardware_threads());
  }
  const bool is_same =
      offers_.empty() || std::ranges::equal(offers, offers_, {}, &Offer::name, &Offer::name);
  if (!reply.is_whole() || !is_same) {
    process_.reset();
    throw Error(ErrorKind::kDevice,
                "its process does not say what it offers, or not twice the same");
  }
  if (offers_.empty()) offers_ = std::move(offers);
}

// The answer without its first word.
MessageReader Remote::answer_to(const std::string& message) {
  if (!process_ || !process_->is_running()) start();
  const Exchange exchange = process_->exchange(message, host_.limits.call_s);
  if (!exchange.failure.empty()) throw Error(ErrorKind::kDevice, exchange.failure);
  MessageReader reply(exchange.answer);
  if (reply.get<Answer>() != Answer::kDone) throw Error(ErrorKind::kDevice, bounded(reply.text()));
  return reply;
}

// Borrows the remote.
class Remote::TimedThere final : public device::Sampler {
 public:
  TimedThere(Remote& remote, std::uint32_t index) : remote_(remote), index_(index) {}

  void prepare(const device::CallsElsewhere& calls, const device::SampleSpec& spec) override {
    remote_.prepare_sample(index_, calls, spec);
  }
  device::Sample take(const device::SampleSpec& spec, const device::CallRange& range,
                      const std::vector<device::OutputCopy>& copies) override {
    return remote_.sample(index_, spec, range, copies);
  }
  void repeat(const device::SampleSpec& spec,
              const std::vector<device::CallRange>& ranges) override {
    remote_.repeat(index_, spec, ranges);
  }

 private:
  Remote& remote_;
  std::uint32_t index_;
};

std::vector<kernels::Variant> Remote::variants() {
  std::vector<kernels::Variant> all;
  for (std::uint32_t index = 0; index < offers_.size(); ++index) all.push_back(variant(index));
  return all;
}

kernels::Variant Remote::variant(std::uint32_t index) {
  const Offer& offer = offers_[index];
  kernels::Variant variant;
  variant.name = offer.name.c_str();
  variant.summary = offer.summary.c_str();
  variant.traits = offer.traits;
  variant.traits.mirrors = offer.mirrors.c_str();
  variant.traits.compiled_from = offer.compiled_from.c_str();
  variant.traits.peer = "";
  variant.unsupported = [this, index](const kernels::Problem& problem,
                                      const kernels::DeviceFacts& facts) -> const char* {
    const Opinion& found = opinion(index, problem, facts);
    return found.unsupported.empty() ? nullptr : found.unsupported.c_str();
  };
  variant.workspace_bytes = [this, index](const kernels::Problem& problem,
                                          const kernels::Launch& launch) {
    return static_cast<std::size_t>(opinion(index, problem, launch.device).workspace_bytes);
  };
  move_calls(index, variant);
  if (!offer.has_prepare) return variant;
  variant.prepared_bytes = [this, index](const kernels::Problem& problem) {
    return static_cast<std::size_t>(opinion(index, problem, {}).prepared_bytes);
  };
  return variant;
}

// Makes what `variant` does that of number `index` in the process.
void Remote::move_calls(std::uint32_t index, kernels::Variant& variant) {
  const auto call = [this, index](const std::vector<kernels::Job>& jobs,
                                  const kernels::Launch& launch) {
    return this->launch(index, jobs, launch);
  };
  variant.launch = [call](const kernels::Job& job, const kernels::Launch& launch) {
    call({job}, launch);
  };
  if (host_.shared->sharing() == device::Sharing::kHandles) {
    std::unique_ptr<device::Sampler>& sampler = offers_[index].sampler;
    if (!sampler) sampler = std::make_unique<TimedThere>(*this, index);
    variant.launch_elsewhere = device::LaunchElsewhere{call, sampler.get()};
  } else {
    variant.launch_elsewhere = call;
  }
  if (!offers_[index].has_prepare) return;
  variant.prepare = [this, index](const kernels::Job& job, const kernels::Launch& launch) {
    prepare(index, job, launch);
  };
}

std::vector<kernels::Variant> Remote::variants_of(const std::vector<kernels::Variant>& own) {
  if (own.size() != offers_.size()) {
    throw Error(ErrorKind::kDevice, "the process of the built-in variants has others");
  }
  std::vector<kernels::Variant> all = own;
  for (std::uint32_t index = 0; index < all.size(); ++index) move_calls(index, all[index]);
  return all;
}

Remote::Question Remote::question(std::uint32_t index, const kernels::Problem& problem) {
  const kernels::Grouping& group = problem.group;
  return {index,
          problem.elements,
          problem.block_shift,
          problem.nested,
          problem.transposed,
          problem.inputs,
          problem.tokens,
          problem.output_type,
          group.experts,
          group.top_k,
          group.sums_slots,
          problem.layer.columns,
          problem.layer.activation};
}

// Asked once a problem: the answer is the same for problems of the same shape. A variant whose
// process died over the question is said to fail when it is launched.
const Remote::Opinion& Remote::opinion(std::uint32_t index, const kernels::Problem& problem,
                                       const kernels::DeviceFacts& facts) {
  const Question asked = question(index, problem);
  const auto found = opinions_.find(asked);
  if (found != opinions_.end()) return found->second;
  return opinions_.emplace(asked, ask(index, problem, facts)).first->second;
}

Remote::Opinion Remote::ask(std::uint32_t index, const kernels::Problem& problem,
                            const kernels::DeviceFacts& facts) {
  MessageWriter message;
  message.add(Request::kAsk).add(index).add(problem).add(facts);
  Opinion opinion;
  try {
    MessageReader reply = answer_to(message.finish());
    opinion.unsupported = bounded(reply.text());
    opinion.workspace_bytes = reply.get<std::int64_t>();
    opinion.prepared_bytes = reply.get<std::int64_t>();
    if (!reply.is_whole() || opinion.workspace_bytes < 0 || opinion.prepared_bytes < 0) {
      opinion = Opinion();
      opinion.failure = "its process sends what is no answer";
    }
  } catch (const Error& error) {
    opinion.failure = fmt::format("when it was asked about the problem, it {}", error.what());
  }
  return opinion;
}

// With places in the buffers that are shared instead of addresses.
std::vector<kernels::Job> Remote::shared(std::vector<kernels::Job> jobs) const {
  for (kernels::Job& job : jobs) {
    change_addresses(job, [this](std::uintptr_t address) {
      return host_.shared->place_of(std::bit_cast<const void*>(address));
    });
  }
  return jobs;
}

// Pages that are entered into a process's tables take its processor time, but are no part of calls.
void Remote::tell_news() {
  std::string news = host_.shared->news(known_);
  if (news.empty() || news == heard_) return;
  MessageWriter message;
  message.add(Request::kHear).add(news);
  answer_to(message.finish());
  heard_ = std::move(news);
}

// What messages of calls begin with. The process finds done what was begun here.
MessageWriter Remote::begin(Request request, std::uint32_t index, const kernels::Launch& launch) {
  if (!process_ || !process_->is_running()) start();
  host_.shared->settle();
  tell_news();
  MessageWriter message;
  message.add(request).add(index).add(launch.device);
  message.add(std::string(launch.config == nullptr ? "" : launch.config));
  return message;
}

void Remote::let_go(std::uint64_t block) noexcept {
  prepared_.clear();
  if (!process_ || !process_->is_running() || block > known_) return;
  try {
    MessageWriter message;
    message.add(Request::kLetGo).add(block);
    answer_to(message.finish());
  } catch (...) {
    process_.reset();  // what it had opened is closed with it
  }
}

void Remote::prepare(std::uint32_t index, const kernels::Job& job, const kernels::Launch& launch) {
  MessageWriter message = begin(Request::kPrepare, index, launch);
  message.add(shared({job}));
  answer_to(message.finish());
}

void Remote::prepare_sample(std::uint32_t index, const device::CallsElsewhere& calls,
                            const device::SampleSpec& spec) {
  if (!process_ || !process_->is_running()) start();
  const SampleKey key = {index, calls.workload, spec.cache, spec.launch, spec.launches};
  if (prepared_.contains(key)) return;
  MessageWriter message = begin(Request::kPrepareSample, index, calls.launch);
  message.add(spec).add(calls.workload).add(calls.sets).add(calls.foreign_lines);
  message.add(shared(calls.jobs()));
  answer_to(message.finish());
  // It has those of one workload.
  std::erase_if(prepared_, [&](const SampleKey& each) {
    return std::get<std::uintptr_t>(each) != calls.workload;
  });
  prepared_.insert(key);
}

device::Sample Remote::sample(std::uint32_t index, const device::SampleSpec& spec,
                              const device::CallRange& range,
                              const std::vector<device::OutputCopy>& copies) {
  MessageWriter message = begin(Request::kSample, index, {});
  message.add(spec).add(range).add(static_cast<std::uint32_t>(copies.size()));
  for (const device::OutputCopy& copy : copies) {
    message.add(host_.shared->place_of(copy.from)).add(host_.shared->place_of(copy.to));
    message.add(copy.bytes);
  }
  return whole_answer<device::Sample>(answer_to(message.finish()));
}

// The time that passes here holds back what others of this machine do to it, so that a single long
// one proves nothing.
void Remote::repeat(std::uint32_t index, const device::SampleSpec& spec,
                    const std::vector<device::CallRange>& ranges) {
  std::string problem;
  for (int i = 0; i < kTries; ++i) {
    MessageWriter message = begin(Request::kRepeat, index, {});
    message.add(spec).add(ranges);
    const auto started = std::chrono::steady_clock::now();
    const MessageReader reply = answer_to(message.finish());
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - started;
    const auto said_s = whole_answer<double>(reply);
    problem = contradiction_of_turn(ranges.size() * static_cast<std::size_t>(spec.launches), said_s,
                                    passed.count());
    if (problem.empty()) return;
  }
  throw Error(ErrorKind::kDevice, problem);
}

double Remote::launch(std::uint32_t index, const std::vector<kernels::Job>& jobs,
                      const kernels::Launch& launch) {
  if (!jobs.empty()) {
    const Opinion& known = opinion(index, jobs.front(), launch.device);
    if (!known.failure.empty()) throw Error(ErrorKind::kDevice, known.failure);
    const Question asked = question(index, jobs.front());
    if (asked != offers_[index].looked_at) offers_[index].clock.forget();
    offers_[index].looked_at = asked;
  }
  const bool is_timed = !offers_[index].sampler;
  const JobsInTurn calls = in_turn(jobs);
  std::string problem;
  for (int i = 0; i < kTries; ++i) {
    MessageWriter message = begin(Request::kLaunch, index, launch);
    message.add(shared(calls.jobs)).add(calls.turns);
    const ProcessorTime before = process_->processor_time();
    const MessageReader reply = answer_to(message.finish());
    const ProcessorTime after = process_->processor_time();
    const auto seconds = whole_answer<double>(reply);
    // The system brings the time of a single thread up to date later than that of all.
    const double all_s = after.all_s - before.all_s;
    const double caller_s = std::min(after.caller_s - before.caller_s, all_s);
    if (is_timed) {
      problem = offers_[index].clock.implausibility({jobs.size(), seconds, {caller_s, all_s}});
    }
    if (problem.empty()) return seconds;
  }
  throw Error(ErrorKind::kDevice, problem);
}

}  // namespace nf4bench::peer
