#pragma once

#include "bench/runner.hpp"
#include "device/device.hpp"
#include "io/checkpoint/checkpoint.hpp"
#include "operation/operation.hpp"
#include "peer/peer_argument.hpp"
#include "peer/peers.hpp"
#include "plan/plan.hpp"
#include "plan/sources.hpp"
#include "record/report.hpp"
#include "record/run_options.hpp"

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace nf4bench::bench {

// What is measured of one operation.
struct OperationPlan {
  operation::Operation operation;
  record::RunOptions options;  // the baseline is that of this operation
  peer::Peers peers;           // owns the names of the variants
  std::vector<plan::SelectedVariant> variants;
  std::vector<plan::PlannedTensor> tensors;

  RunRequest request(device::Device& device) const {
    return {device, operation, tensors, variants, options, clocks()};
  }

  // What peers do in their processes is no other program's doing.
  Clocks clocks() const {
    return {.read_load = [this] { return device::read_load("/", peers.processor_seconds()); }};
  }
};

// Everything that "nf4bench run" has settled before it measures.
struct RunPlan {
  record::RunOptions options;  // launch modes and rotation are those of this device
  std::vector<std::unique_ptr<io::Checkpoint>> checkpoints;  // the tensors are loaded from these
  std::unique_ptr<device::Device> device;
  std::deque<OperationPlan> operations;   // not empty
  std::vector<std::string> warnings;      // for the report
  std::optional<record::Shard> shard;     // which task of a job this is
  std::vector<std::string> absent_peers;  // that cannot be used
};

// What a run is made from.
struct RunParts {
  record::RunOptions options;
  std::optional<record::Shard> shard;
  std::vector<peer::PeerArgument> peers;
  plan::Sources sources;
};

// Options that change nothing, because no operation of the run heeds them, and those that would:
// "--routing changes nothing without --operation experts".
std::vector<std::string> idle_options(const record::RunOptions& options);

// Opens the device and the peers, and chooses what is measured. `warn` gets what is to be known at
// once. Throws Error when something cannot be used, or does not fit the device.
RunPlan make_plan(RunParts parts, const std::function<void(const std::string&)>& warn);

// What --dry-run prints.
std::string plan_text(const RunPlan& plan);

}  // namespace nf4bench::bench
