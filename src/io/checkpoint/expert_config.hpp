#pragma once

#include "io/checkpoint/expert_stack.hpp"

#include <filesystem>

namespace nf4bench::io {

// Appends to `shapes` what the config.json at `config`, which is there, implies of the model's
// expert stacks: gate_up_proj is [experts, 2 * intermediate, hidden] and down_proj [experts,
// hidden, intermediate]. Where it does not imply them, it says so in shapes.config_gap.
void add_config_shapes(const std::filesystem::path& config, StackShapes& shapes);

}  // namespace nf4bench::io
