#pragma once

#include "base/output_target.hpp"
#include "io/checkpoint/checkpoint.hpp"
#include "io/writers/model_folder.hpp"

#include <functional>
#include <string>
#include <vector>

namespace nf4bench::io {

// Where decoded weights are written, and what goes there besides them.
struct DecodedModel {
  OutputTarget target = {};
  bool is_complete = false;             // with everything else that the input holds
  bool is_folder = false;               // of a whole model, not one file
  ModelFiles files = {};                // of the input's folder, when is_folder
  std::function<void()> on_piece = {};  // called while tensors are copied; may throw
};

// Refuses a name that does not end in .safetensors. Throws Error(kUsage).
void check_ending(const std::string& output);

// Chooses and checks. Throws Error when something would be lost, or cannot become part of a whole
// model.
DecodedModel plan_decoded_model(const Checkpoint& checkpoint, OutputTarget target,
                                bool is_complete);

// Writes the decoded `tensors`, and for a whole model everything else.
void write_decoded_model(const DecodedModel& output, const Checkpoint& checkpoint,
                         std::vector<OutputTensor> tensors, const ConfigTypes& types,
                         const WriteOptions& options);

}  // namespace nf4bench::io
