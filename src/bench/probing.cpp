#include "bench/probing.hpp"

#include <algorithm>
#include <utility>

namespace nf4bench::bench {
namespace {

// The probes of one problem.
class Prober {
 public:
  Prober(const RunContext& context, const kernels::Problem& problem, std::vector<Verdict> verdicts)
      : context_(context), problem_(problem), verdicts_(std::move(verdicts)) {}

  void run(const operation::Probe& probe, const nf4::Nf4Tensor& weight);
  std::vector<Verdict> verdicts() { return std::move(verdicts_); }

 private:
  bool is_done() const;
  void hold(device::Workload& workload, const operation::ProbeStep& step);

  const RunContext& context_;
  const kernels::Problem& problem_;
  std::vector<Verdict> verdicts_;
};

bool Prober::is_done() const {
  return context_.is_interrupted() ||
         std::none_of(verdicts_.begin(), verdicts_.end(), [](const Verdict& verdict) {
           return verdict.status == record::Status::kPassed;
         });
}

void Prober::run(const operation::Probe& probe, const nf4::Nf4Tensor& weight) {
  if (is_done()) return;
  if (probe.change) return run({{}, probe.steps, probe.make}, probe.change(weight));
  operation::ProbeStep step = probe.make(weight, 0);
  const auto workload = upload(context_, {.tensor = weight, .input = step.input}, problem_,
                               device::UploadPurpose::kVerify);
  hold(*workload, step);
  for (std::int64_t i = 1; i < probe.steps && !is_done(); ++i) {
    step = probe.make(weight, i);
    operation::replace_input(*workload, step.input);
    hold(*workload, step);
  }
}

void Prober::hold(device::Workload& workload, const operation::ProbeStep& step) {
  for (std::size_t i = 0; i < verdicts_.size() && !context_.is_interrupted(); ++i) {
    if (verdicts_[i].status != record::Status::kPassed) continue;
    Verdict found = verify_variant(context_, workload, i, step.expected);
    if (found.status == record::Status::kFailed) found.reason = step.name + ": " + found.reason;
    update(verdicts_[i], std::move(found));
  }
}

}  // namespace

std::vector<Verdict> probe_variants(const RunContext& context, const nf4::Nf4Tensor& weight,
                                    const kernels::Problem& problem,
                                    std::vector<Verdict> verdicts) {
  if (!context.operation.probes) return verdicts;
  Prober prober(context, problem, std::move(verdicts));
  for (const operation::Probe& probe :
       context.operation.probes(problem, context.options, context.device.info().kind)) {
    prober.run(probe, weight);
  }
  return prober.verdicts();
}

}  // namespace nf4bench::bench
