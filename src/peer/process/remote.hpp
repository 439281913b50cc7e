#pragma once

#include "device/shared_buffers.hpp"
#include "peer/peer_argument.hpp"
#include "peer/peer_host.hpp"
#include "peer/process/message.hpp"
#include "peer/process/peer_process.hpp"
#include "variant.hpp"

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <vector>

namespace nf4bench::peer {

// A peer in a process of its own, or this program's own variants, for an empty argument. One that
// ends before it should is started again when it is asked the next time. Not thread-safe.
class Remote final : device::BlockUser {
 public:
  // Starts the process, in which the peer is loaded. Throws Error(kInput) saying why it cannot be
  // used.
  Remote(const PeerArgument& argument, const PeerHost& host);
  Remote(const Remote&) = delete;
  Remote& operator=(const Remote&) = delete;
  ~Remote() override;

  // What it offers: variants that work in that process. They borrow this object.
  std::vector<kernels::Variant> variants();

  // `own`, which that process has in the same order: what they say of problems is asked here.
  std::vector<kernels::Variant> variants_of(const std::vector<kernels::Variant>& own);

  // Processor time of all its processes so far.
  double processor_seconds() const;

 private:
  // What tells problems apart that a variant is asked about.
  using Question = std::tuple<std::uint32_t, std::int64_t, int, bool, bool, std::int64_t,
                              std::int64_t, nf4::OutputType, std::int64_t, std::int64_t, bool,
                              std::int64_t, kernels::ActivationKind>;

  // A variant as its process describes it.
  struct Offer {
    std::string name;
    std::string summary;
    std::string mirrors;
    std::string compiled_from;
    kernels::Traits traits;  // without words
    bool has_prepare = false;
    SecondClock clock{1};
    Question looked_at{};  // the problem of the calls that it has seen
    std::unique_ptr<device::Sampler> sampler;
  };

  // Samples of one variant.
  class TimedThere;
  using SampleKey = std::tuple<std::uint32_t, std::uintptr_t, record::CacheMode, record::LaunchMode,
                               int>;  // variant, workload, spec

  // What a variant says of a problem.
  struct Opinion {
    std::string unsupported;  // empty: it can do it
    std::int64_t workspace_bytes = 0;
    std::int64_t prepared_bytes = 0;
    std::string failure;  // why there is no opinion; empty when there is
  };

  void start();
  MessageReader answer_to(const std::string& message);
  kernels::Variant variant(std::uint32_t index);
  void move_calls(std::uint32_t index, kernels::Variant& variant);
  static Question question(std::uint32_t index, const kernels::Problem& problem);
  const Opinion& opinion(std::uint32_t index, const kernels::Problem& problem,
                         const kernels::DeviceFacts& facts);
  Opinion ask(std::uint32_t index, const kernels::Problem& problem,
              const kernels::DeviceFacts& facts);
  void prepare(std::uint32_t index, const kernels::Job& job, const kernels::Launch& launch);
  double launch(std::uint32_t index, const std::vector<kernels::Job>& jobs,
                const kernels::Launch& launch);
  std::vector<kernels::Job> shared(std::vector<kernels::Job> jobs) const;
  void tell_news();
  MessageWriter begin(Request request, std::uint32_t index, const kernels::Launch& launch);
  void prepare_sample(std::uint32_t index, const device::CallsElsewhere& calls,
                      const device::SampleSpec& spec);
  device::Sample sample(std::uint32_t index, const device::SampleSpec& spec,
                        const device::CallRange& range,
                        const std::vector<device::OutputCopy>& copies);
  void repeat(std::uint32_t index, const device::SampleSpec& spec,
              const std::vector<device::CallRange>& ranges);
  void let_go(std::uint64_t block) noexcept override;

  PeerArgument argument_;
  PeerHost host_;
  std::unique_ptr<PeerProcess> process_;
  std::uint64_t known_ = 0;       // of the buffers, to the process
  std::string heard_;             // of the buffers, the last time
  std::set<SampleKey> prepared_;  // in the process
  double earlier_seconds_ = 0.0;  // of processor time, of processes that are gone
  std::deque<Offer> offers_;
  std::map<Question, Opinion> opinions_;  // elements stay where they are: reasons are borrowed
};

}  // namespace nf4bench::peer
