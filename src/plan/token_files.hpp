#pragma once

#include "operation/activations.hpp"
#include "plan/plan.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace nf4bench::plan {

// The first `tokens` rows of the .npy file at `path`: an array [tokens or more, inputs] of float16,
// bfloat16 or float32. Throws Error(kInput) when it is none or has fewer rows.
operation::GivenActivations read_activations(const std::string& path, std::int64_t tokens);

// Throws Error(kInput) when `operation` with one of `tensors` takes rows of another length than
// those of the file of `options`.
void check_fit(const operation::GivenActivations& given, const operation::Operation& operation,
               const std::vector<PlannedTensor>& tensors, const record::RunOptions& options);

// The ids of the .npy file at `path`: an array [tokens or more, top_k]
// of int32 or int64. Throws Error(kInput) when it is none, has fewer rows, or when a token of one
// of `tensors` chooses another number of experts.
std::vector<std::int64_t> read_ids(const std::string& path, std::int64_t tokens,
                                   const std::vector<PlannedTensor>& tensors);

}  // namespace nf4bench::plan
