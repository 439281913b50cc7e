#pragma once

// An NF4 weight on its way to a device.

#include "device/device.hpp"
#include "device/work.hpp"
#include "nf4/tensor.hpp"
#include "operation/operation.hpp"
#include "record/geometry.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace nf4bench::operation {

// Where the buffers of a weight, and the input, stand among those of a work.
enum InputIndex : std::size_t {
  kPacked,
  kScales,
  kNestedAbsmax,
  kNestedMap,
  kNestedOffset,
  kInput,
  kIds,
  kSlotWeights
};

// What is known of a weight before its data: its sizes as a problem.
struct WeightSize {
  std::vector<std::int64_t> shape;
  int blocksize = 64;
  nf4::AbsmaxKind absmax_kind = nf4::AbsmaxKind::kNested;
  std::optional<record::Stack> stack{};  // then it is one, [experts, outputs, inputs]
};

// The weight is a matrix W[outputs, inputs]: its last dimension, and the product of the others.
kernels::Problem problem_of(const WeightSize& size, nf4::OutputType type);
kernels::Problem problem_of(const nf4::Nf4Tensor& tensor, nf4::OutputType type);

// Elements that a call decodes or multiplies, each as often as it does: what computing and checking
// take time by.
double computed_elements(const kernels::Problem& problem);

// Bytes of the packed weight and of all that its scales are made of.
std::int64_t weight_bytes(const kernels::Problem& problem);

// The weight whose every scale, and so every value, is the negative of that of `tensor`. Its packed
// codes are the same, so that both together need hardly more room in a cache than one. Values that
// are NaN, and scales that are zero because the offset takes all of them away, are equal.
nf4::Nf4Tensor negated(const nf4::Nf4Tensor& tensor);

// What a work is made of; borrowed.
struct WorkContent {
  const nf4::Nf4Tensor& tensor;
  const nf4::Nf4Tensor* sibling = nullptr;     // null: none
  std::span<const std::byte> input{};          // what call_input() gave
  std::span<const std::byte> sibling_input{};  // the same of the sibling; empty: it is equal
  bool rotates_input = false;                  // cold samples find it in no cache
  std::int64_t touched_bytes = 0;              // see device::Work
  std::int64_t prepared_bytes = 0;             // the same
};

// `problem`, which `content.tensor` poses, ready for a device. Borrows `content` until it is
// uploaded.
device::Work make_work(const Operation& operation, const WorkContent& content,
                       const kernels::Problem& problem);

// Puts another input in the place of that of a workload that make_work() made of `problem`; of the
// same size.
void replace_input(device::Workload& workload, const kernels::Problem& problem,
                   std::span<const std::byte> input);

// The work of dequantizing `tensor`; borrows it until it is uploaded.
device::Work dequantize_work(const nf4::Nf4Tensor& tensor, nf4::OutputType type);

}  // namespace nf4bench::operation
