#pragma once

// What any operation on an NF4 weight is. Whatever runs, times, reports or lists operations knows
// them only through this; to add one see docs/architecture.md.

#include "catalog.hpp"
#include "device/work.hpp"
#include "nf4/reference.hpp"
#include "nf4/tensor.hpp"
#include "operation/probes.hpp"
#include "operation/routing.hpp"
#include "record/device_info.hpp"
#include "record/run_options.hpp"
#include "record/verification.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace nf4bench::operation {

// What one call moves and computes at least.
struct Traffic {
  std::int64_t bytes_read = 0;     // weight, scales and input
  std::int64_t bytes_written = 0;  // the whole output
  double flops = 0.0;              // 0 where nothing is multiplied and added
};

// What some outputs are held to: the values from `first` on.
struct ExpectedPart {
  std::int64_t first = 0;
  std::vector<std::byte> expected;
};

// What of the weights it takes. A stack of matrices is one weight, as many, or what it multiplies
// rows of different experts with.
enum class WeightKind : std::uint8_t { kAny, kMatrices, kStacks };

// Whose routing: that of buffer sets that hold the weight, or of those that hold its sibling.
enum class Turn : std::uint8_t { kOwn, kSibling };

// How much of a stack a call needs.
struct RoutedTraffic {
  std::int64_t bytes_read = 0;  // of what is hit, and the input
  double flops = 0.0;
  double hit = 0.0;          // experts that any slot has
  std::int64_t fullest = 0;  // slots of the one that ever has most
};

// An operation. Plain data.
struct Operation {
  std::string name;  // as reports write it: "dequantize"

  std::vector<nf4::OutputType> output_types;  // that it has; empty: all

  WeightKind takes = WeightKind::kAny;

  // Whether it multiplies with some number of tokens: then its calls take activations.
  bool has_tokens = false;

  // Whether its tokens choose among the matrices of a stack: then there is make_routing.
  bool has_routing = false;

  // The problems that a weight poses under `options`: one, or one for each number of tokens.
  // `weight` is the weight itself as a problem, in the output type of the run.
  std::function<std::vector<kernels::Problem>(const kernels::Problem& weight,
                                              const record::RunOptions& options)>
      problems;

  std::function<Traffic(const kernels::Problem& problem)> traffic;

  // What calls take besides the weight, the same for the same options. Empty: nothing.
  std::function<std::vector<std::byte>(const kernels::Problem& problem,
                                       const record::RunOptions& options)>
      make_input;

  // What follows that: see CallParts. Calls take turns with two of them.
  std::function<std::vector<std::byte>(const kernels::Problem& problem,
                                       const record::RunOptions& options, Turn turn)>
      make_routing;

  // A weight of the same sizes whose output differs in every value, as far as that can be. Timed
  // buffer sets hold the one or the other, so that an output cannot serve twice. Empty: there is
  // none.
  std::function<nf4::Nf4Tensor(const nf4::Nf4Tensor& weight)> sibling;

  // What the output's first values, at most `most_values`, are held to, in a form that the judge
  // knows. `input` is what call_input() gave.
  std::function<std::vector<std::byte>(const nf4::Nf4Tensor& weight,
                                       const kernels::Problem& problem,
                                       std::span<const std::byte> input, std::int64_t most_values)>
      reference;

  // What those of the output's first values are held to that depend on some elements of the weight.
  std::function<std::vector<ExpectedPart>(
      const nf4::Nf4Tensor& weight, const kernels::Problem& problem,
      std::span<const std::byte> input, nf4::ElementRange elements, std::int64_t most_values)>
      reference_of_part;

  // The input for which the weight's output is what sibling_reference() takes. Empty: the same.
  std::function<std::vector<std::byte>(const kernels::Problem& problem,
                                       std::span<const std::byte> input)>
      mirrored;

  // What the output of the sibling is held to, from what that of the weight is held to, of the
  // mirrored input. Of some of its values as of all.
  std::function<std::vector<std::byte>(const kernels::Problem& problem,
                                       std::span<const std::byte> expected)>
      sibling_reference;

  // What variants are held to besides, before they are timed. Empty: nothing.
  std::function<std::vector<Probe>(const kernels::Problem& problem,
                                   const record::RunOptions& options, record::DeviceKind device)>
      probes;

  // Of how many inputs the probes show the weights. Empty: there are no probes.
  std::function<record::InputsSeen(const kernels::Problem& problem,
                                   const record::RunOptions& options, record::DeviceKind device)>
      inputs_seen;

  // Bytes that the reference gives for one value of an output.
  std::function<std::int64_t(nf4::OutputType type)> expected_bytes;

  // Holds the output's first values to what the reference says of them.
  std::function<record::Verification(const kernels::Problem& problem,
                                     std::span<const std::byte> expected,
                                     std::span<const std::byte> actual)>
      judge;

  // What a judge of the catalogue found that compared so many values. Empty where none has one.
  std::function<record::Verification(const kernels::DeviceVerdict& verdict, std::int64_t compared)>
      read_verdict;

  // The first of the output's values that the judge finds wrong, and what explains it with all the
  // others; `found` is what the judge said. Empty: nobody can tell.
  std::function<record::FirstWrong(const nf4::Nf4Tensor& weight, const kernels::Problem& problem,
                                   std::span<const std::byte> expected,
                                   std::span<const std::byte> actual,
                                   const record::Verification& found)>
      explain;

  // Why an output that the judge found wrong is wrong, in words.
  std::function<std::string(const record::Verification& found)> describe_fault;

  // What this program has for it on a kind of device.
  std::function<const kernels::Catalog&(record::DeviceKind kind)> catalog;
};

// What calls take besides the weight: make_input() and make_routing() together.
std::vector<std::byte> call_input(const Operation& operation, const kernels::Problem& problem,
                                  const record::RunOptions& options, Turn turn = Turn::kOwn);

// What of a stack calls need, the mean of both routings; none for other operations.
std::optional<RoutedTraffic> routed_traffic(const Operation& operation,
                                            const kernels::Problem& problem,
                                            const record::RunOptions& options);

// Of a set of buffers what a call touches; 0: all. A call in which no token has an expert counts as
// if one were hit, so that a cold sample does not rotate through thousands of stacks.
std::int64_t touched_bytes(const Operation& operation, const kernels::Problem& problem,
                           const record::RunOptions& options);

// What the reference says of all values of `problem`, at most `most_values`, in bytes.
std::int64_t expected_bytes(const Operation& operation, const kernels::Problem& problem,
                            std::int64_t most_values);

// The operations of this program; the first is the default.
const std::vector<Operation>& operations();

// Those of these names, each once, in the order given; the default when there are none. Throws
// Error(kUsage) that names --operation for another word.
std::vector<Operation> operations_of(const std::vector<std::string>& names);

// What this build has for one operation on one kind of device, whether such a device is here or
// not.
struct BuiltIn {
  const Operation& operation;
  record::DeviceKind device;
  const kernels::Catalog& catalog;
};

// CUDA first; only the CPU in a build without CUDA.
std::vector<BuiltIn> built_in_catalogs();

// The names of all their variants, each once, in order of appearance.
std::vector<std::string> built_in_variant_names();

}  // namespace nf4bench::operation
