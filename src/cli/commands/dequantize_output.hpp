#pragma once

#include "base/output_target.hpp"
#include "cli/commands/dequantize_command.hpp"
#include "io/checkpoint/checkpoint.hpp"
#include "io/writers/model_folder.hpp"

#include <functional>
#include <string>
#include <vector>

namespace nf4bench::cli {

// Where "nf4bench dequantize" writes, and what goes there besides decoded weights.
struct DequantizeOutput {
  OutputTarget target = {};
  bool is_complete = false;             // with everything else that the input holds
  bool is_folder = false;               // of a whole model, not one file
  io::ModelFiles files = {};            // of the input's folder, when is_folder
  std::function<void()> on_piece = {};  // called while tensors are copied; may throw
};

// Refuses a name that does not end in .safetensors. Throws Error(kUsage).
void check_ending(const std::string& output);

// Chooses and checks, before a device is opened. `read` are the files that the command reads.
// Throws Error when something would be lost, or cannot become part of a whole model.
DequantizeOutput choose_output(const DequantizeArguments& arguments,
                               const io::Checkpoint& checkpoint, std::vector<FileRead> read);

// Writes the decoded `tensors`, and for a whole model everything else.
void write(const DequantizeOutput& output, const io::Checkpoint& checkpoint,
           std::vector<io::OutputTensor> tensors, const io::ConfigTypes& types);

// What became of all that is not NF4: "; left out 12 other tensors"; empty when there is none.
std::string rest_text(const DequantizeOutput& output, const io::Checkpoint& checkpoint);

}  // namespace nf4bench::cli
