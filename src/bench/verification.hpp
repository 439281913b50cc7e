#pragma once

#include "bench/run_context.hpp"
#include "operation/weight.hpp"
#include "record/measurement.hpp"

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace nf4bench::bench {

// What is known of one variant on one tensor and output type. Passed, failed or skipped.
struct Verdict {
  record::Status status = record::Status::kPassed;
  std::string reason;  // empty when passed
  std::optional<record::Verification> comparison;
};

// What outputs of the content's tensor are held to, as much of it as `scope` compares.
std::vector<std::byte> expected_output(const operation::Operation& operation,
                                       const operation::WorkContent& content,
                                       const kernels::Problem& problem, record::VerifyScope scope);

// Uploads the work that `content` and `problem` make.
std::unique_ptr<device::Workload> upload(const RunContext& context,
                                         const operation::WorkContent& content,
                                         const kernels::Problem& problem,
                                         device::UploadPurpose purpose);

// A workload on a device, and what it is to compute there.
struct Trial {
  device::Workload& workload;
  const nf4::Nf4Tensor* weight;  // null: that is not known, and no wrong output is looked into
  const kernels::Problem& problem;
  std::span<const std::byte> expected;
};

// Runs the run's variant number `index` once on poisoned buffers and compares.
Verdict verify_variant(const RunContext& context, const Trial& trial, std::size_t index);

// Brings `known` up to date with what another output of the variant was found to be: its weights
// are as exact as those of the worse of both.
void update(Verdict& known, Verdict found);

// Verifies the variants whose verdict in `verdicts` (one for each variant of the run) is still
// passed and returns the verdicts brought up to date. Stops early when interrupted.
std::vector<Verdict> verify_variants(const RunContext& context, const Trial& trial,
                                     std::vector<Verdict> verdicts);

// What becomes of verdicts when the device is lost while it works for `caller`: its own is failed
// for `cause`, and what has passed is skipped, since nothing can be verified again.
std::vector<Verdict> verdicts_of_loss(std::vector<Verdict> verdicts, const Caller& caller,
                                      const std::string& cause);

// Holds the variants whose verdict in `verdicts` (one for each variant of the run) is still passed
// to what the operation's probes for `problem` expect, and returns the verdicts brought up to date.
// `weight` is the weight of the run. Stops early when interrupted.
std::vector<Verdict> probe_variants(const RunContext& context, const nf4::Nf4Tensor& weight,
                                    const kernels::Problem& problem, std::vector<Verdict> verdicts);

}  // namespace nf4bench::bench
