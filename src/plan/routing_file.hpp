#pragma once

#include "plan/plan.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace nf4bench::plan {

// The ids of the .npy file at `path`: an array [tokens or more, top_k]
// of int32 or int64. Throws Error(kInput) when it is none, has fewer rows, or when a token of one
// of `tensors` chooses another number of experts.
std::vector<std::int64_t> read_ids(const std::string& path, std::int64_t tokens,
                                   const std::vector<PlannedTensor>& tensors);

}  // namespace nf4bench::plan
