#include "peer/process/remote.hpp"

#include "base/error.hpp"
#include "base/parallel.hpp"
#include "base/text.hpp"
#include "peer/python/python_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <utility>

namespace nf4bench::peer {
namespace {

// What a broken process may have made of a text.
constexpr std::size_t kMostChars = 1000;
constexpr std::uint32_t kMostOffers = 1000;

constexpr double kStartPythonS = 60.0;  // besides the import of the file, which ends itself

std::string bounded(const std::string& text) {
  return printable(text.substr(0, kMostChars));
}

// Where memory of the process ends that is in use by now, which it is to enter into its tables.
void add_use(MessageWriter& message, const device::SharedBuffers& buffers) {
  for (const device::SharedArena* const part : {&buffers.inputs, &buffers.outputs}) {
    message.add(part->used()).add(part->beginnings());
  }
}

}  // namespace

Remote::Remote(const PeerArgument& argument, const PeerHost& host)
    : argument_(argument), host_(host) {
  try {
    start();
  } catch (const Error& error) {
    throw Error(ErrorKind::kInput, error.what());
  }
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
  MessageWriter message;
  message.add(Request::kLoad).add(buffers.inputs.bytes()).add(buffers.outputs.bytes());
  message.add(argument_.name).add(argument_.path);
  message.add(host_.kind).add(host_.operation);
  message.add(host_.compute_capability).add(host_.threads);
  const double load_s =
      is_python_file(argument_.path) ? import_limit_s() + kStartPythonS : host_.limits.load_s;
  const Exchange exchange = process_->exchange(message.finish(), load_s);
  if (!exchange.failure.empty()) {
    throw Error(ErrorKind::kDevice, fmt::format("while it was loaded, it {}", exchange.failure));
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
  variant.launch_elsewhere = [this, index](const std::vector<kernels::Job>& jobs,
                                           const kernels::Launch& launch) {
    return this->launch(index, jobs, launch);
  };
  variant.launch = [this, index](const kernels::Job& job, const kernels::Launch& launch) {
    this->launch(index, {job}, launch);
  };
  if (!offer.has_prepare) return variant;
  variant.prepare = [this, index](const kernels::Job& job, const kernels::Launch& launch) {
    prepare(index, job, launch);
  };
  variant.prepared_bytes = [this, index](const kernels::Problem& problem) {
    return static_cast<std::size_t>(opinion(index, problem, {}).prepared_bytes);
  };
  return variant;
}

Remote::Question Remote::question(std::uint32_t index, const kernels::Problem& problem) {
  return {index,          problem.elements, problem.block_shift, problem.nested,
          problem.inputs, problem.tokens,   problem.output_type};
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
kernels::Job Remote::shared(kernels::Job job) const {
  change_addresses(job, [this](std::uintptr_t address) -> std::uintptr_t {
    if (address == 0) return 0;
    const device::SharedBuffers& buffers = *host_.shared;
    const auto* const place = std::bit_cast<const std::byte*>(address);
    if (buffers.inputs.holds(place)) {
      return static_cast<std::uintptr_t>(place - buffers.inputs.base()) + 1;
    }
    if (buffers.outputs.holds(place)) {
      return static_cast<std::uintptr_t>(place - buffers.outputs.base()) + 1 + kInOutputs;
    }
    throw Error(ErrorKind::kDevice, "a buffer is not shared with the process of a peer");
  });
  return job;
}

void Remote::prepare(std::uint32_t index, const kernels::Job& job, const kernels::Launch& launch) {
  MessageWriter message;
  message.add(Request::kPrepare).add(index);
  add_use(message, *host_.shared);
  message.add(launch.device).add(shared(job));
  answer_to(message.finish());
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
  if (!process_ || !process_->is_running()) start();
  MessageWriter message;
  message.add(Request::kLaunch).add(index);
  add_use(message, *host_.shared);
  message.add(launch.device).add(static_cast<std::uint32_t>(jobs.size()));
  for (const kernels::Job& job : jobs) message.add(shared(job));
  const ProcessorTime before = process_->processor_time();
  MessageReader reply = answer_to(message.finish());
  const ProcessorTime after = process_->processor_time();
  const auto seconds = reply.get<double>();
  if (!reply.is_whole()) throw Error(ErrorKind::kDevice, "its process sends what is no answer");
  const std::string problem = offers_[index].clock.implausibility(
      {jobs.size(), seconds, {after.caller_s - before.caller_s, after.all_s - before.all_s}});
  if (!problem.empty()) throw Error(ErrorKind::kDevice, problem);
  return seconds;
}

}  // namespace nf4bench::peer
