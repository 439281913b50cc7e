#pragma once

#include "cli/commands/run/run_command.hpp"
#include "device/device.hpp"
#include "io/checkpoint/checkpoint.hpp"
#include "peer/peers.hpp"
#include "plan/plan.hpp"
#include "record/settings.hpp"

#include <memory>
#include <string>
#include <vector>

namespace nf4bench::cli {

// Everything that "nf4bench run" has settled before it measures.
struct RunPlan {
  record::RunOptions options;  // the launch modes and the baseline are those of the run
  bool measures_ceilings = true;
  std::vector<std::unique_ptr<io::Checkpoint>> checkpoints;  // which the tensors load from
  std::unique_ptr<device::Device> device;
  peer::Peers peers;  // which the variants have their names from
  std::vector<plan::SelectedVariant> variants;
  std::vector<plan::PlannedTensor> tensors;
  std::vector<std::string> warnings;  // for the report
};

// Opens what `arguments` name: inputs, device, peers. Throws Error when one of them cannot be used
// or they do not go together.
RunPlan plan_run(const RunArguments& arguments);

}  // namespace nf4bench::cli
