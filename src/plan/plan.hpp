#pragma once

#include "device/device.hpp"
#include "nf4/tensor.hpp"
#include "record/geometry.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace nf4bench::plan {

// A tensor that may be benchmarked: what is known before its data is read, and how to read it.
struct TensorSource {
  std::string name;
  std::string source;  // file, "synthetic" or "preset llama-3.1-8b"
  record::Geometry geometry;
  nf4::OutputType dtype = nf4::OutputType::kBfloat16;
  std::int64_t multiplicity = 1;  // tensors of the model that this one already stands for
  bool for_stacks = false;        // a stack whose matrices stand among the other tensors
  std::function<nf4::Nf4Tensor()> load;
  std::int64_t top_k = 0;  // experts that a token of the model chooses; 0: not known
  std::optional<record::Activation> activation{};  // that they have
  bool transposed = false;  // as the model has them, experts' matrices lie as [inputs, outputs]
  // Of synthetic ones: the same in another shape.
  std::function<TensorSource(std::vector<std::int64_t> shape)> with_shape{};
};

// A tensor to be timed, and those of the same geometry that it stands for.
struct PlannedTensor {
  std::string id;  // "t0", "t1", ...: what measurements refer to
  TensorSource source;
  std::int64_t multiplicity = 1;          // tensors of this geometry, the timed one included
  std::vector<TensorSource> verify_also;  // the others, to be verified but not timed
};

enum class TensorChoice : std::uint8_t {
  kOnePerGeometry,  // time one tensor of each geometry, keep its multiplicity
  kAll,             // time each tensor
};

// Groups `sources` by geometry (shape, blocksize, absmax kind, stored type) in order of appearance.
// Ids count from `first_id` on.
std::vector<PlannedTensor> plan_tensors(std::vector<TensorSource> sources, TensorChoice choice,
                                        std::size_t first_id = 0);

// A variant that takes part in a run, under the name it has there. The name differs from the
// variant's own when one variant runs against itself.
struct SelectedVariant {
  std::string name;  // "fused", "fused#2"
  kernels::Variant variant;
};

// The variants of `available` that match any of `patterns` (names with * and ?), in catalogue
// order; a pattern listed twice selects twice, the second under the name "NAME#2". An empty list
// selects all. Throws Error(kUsage) naming the nearest names for a pattern that matches none.
std::vector<SelectedVariant> select_variants(const std::vector<kernels::Variant>& available,
                                             const std::vector<std::string>& patterns);

}  // namespace nf4bench::plan
