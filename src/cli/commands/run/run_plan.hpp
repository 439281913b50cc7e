#pragma once

#include "base/output_target.hpp"
#include "cli/commands/run/operation_plan.hpp"
#include "cli/context.hpp"
#include "device/device.hpp"
#include "io/checkpoint/checkpoint.hpp"
#include "record/run_options.hpp"
#include "record/shard.hpp"

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace nf4bench::cli {

// Everything that "nf4bench run" has settled before it measures.
struct RunPlan {
  record::RunOptions options;  // launch modes and rotation are those of this device
  std::vector<std::unique_ptr<io::Checkpoint>> checkpoints;  // the tensors are loaded from these
  std::unique_ptr<device::Device> device;
  std::deque<OperationPlan> operations;  // not empty
  std::vector<std::string> warnings;     // for the report
  std::optional<record::Shard> shard;    // which task of a job this is
  OutputTarget output;                   // where the report goes; its path may be empty
};

// Opens the inputs, the device and the peers that `options` name, and chooses what is measured.
// Throws Error when something cannot be used, does not fit the device or would be overwritten.
RunPlan plan_run(record::RunOptions options, const std::optional<record::Shard>& shard,
                 const Context& context);

}  // namespace nf4bench::cli
