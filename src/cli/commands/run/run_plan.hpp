#pragma once

#include "base/output_target.hpp"
#include "cli/commands/run/operation_plan.hpp"
#include "cli/commands/run/run_command.hpp"
#include "cli/context.hpp"
#include "device/device.hpp"
#include "io/checkpoint/checkpoint.hpp"
#include "record/settings.hpp"
#include "record/shard.hpp"

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace nf4bench::cli {

// Everything that "nf4bench run" has settled before it measures.
struct RunPlan {
  record::Settings options;  // launch modes are those of this device
  std::vector<std::unique_ptr<io::Checkpoint>> checkpoints;  // the tensors are loaded from these
  std::unique_ptr<device::Device> device;
  std::deque<OperationPlan> operations;  // not empty
  bool crossover = false;                // finds out where the fastest variant changes
  bool keep_samples = true;              // in the report
  std::vector<std::string> warnings;     // for the report
  std::optional<record::Shard> shard;    // which task of a job this is
  OutputTarget output;                   // where the report goes; its path may be empty
};

// Opens the inputs, the device and the peers that `arguments` name, and chooses what is measured.
// Throws Error when something cannot be used, does not fit the device or would be overwritten.
RunPlan plan_run(const RunArguments& arguments, const Context& context);

}  // namespace nf4bench::cli
