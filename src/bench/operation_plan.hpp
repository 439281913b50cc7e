#pragma once

#include "bench/runner.hpp"
#include "device/device.hpp"
#include "operation/operation.hpp"
#include "peer/peers.hpp"
#include "plan/plan.hpp"
#include "record/run_options.hpp"

#include <deque>
#include <functional>
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

// What all operations of a run have in common.
struct OperationChoice {
  const record::RunOptions& options;
  const std::vector<peer::PeerArgument>& peers;
  device::Device& device;
  const std::function<void(const std::string&)>& warn;  // of peers that are not there
};

// The plans of `operations`: for each its peers, baseline, variants and tensors. Tensors that two
// of them have in common have one id. Throws Error when something cannot be used, when an operation
// is left without a variant, or when a tensor does not fit the operation or the device.
std::deque<OperationPlan> plan_operations(std::vector<operation::Operation> operations,
                                          const std::vector<plan::TensorSource>& sources,
                                          const OperationChoice& choice);

peer::LoadedPeers peers_of(const std::deque<OperationPlan>& plans);

}  // namespace nf4bench::bench
