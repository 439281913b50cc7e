#include "cli/commands/input_options.hpp"

namespace nf4bench::cli {

void add_input_options(CLI::App& command, record::Inputs& inputs, const char* group) {
  const Option raw =
      add_repeated(command, inputs.dumps,
                   {"--raw", "KEY=VALUE,...",
                    ".npy files of any names as one tensor: weight=W.npy,absmax=A.npy,\n"
                    "shape=OUTxIN,blocksize=64, and if need be nested_absmax=FILE,\n"
                    "nested_map=FILE,offset=NUMBER, quant_map=FILE, dtype=TYPE,\n"
                    "name=NAME (repeatable)"});
  const Option shape = add_repeated(command, inputs.stack_shapes,
                                    {"--shape-of", "NAME=NxK",
                                     "Outputs and inputs of each expert in the stacks whose names\n"
                                     "are or end in NAME, where neither the file nor config.json\n"
                                     "says (repeatable)"});
  if (group == nullptr) return;
  raw.group(group);
  shape.group(group);
}

void add_one_input(CLI::App& command, std::string& path, record::Inputs& inputs) {
  add_single(
      command, path,
      {"input", "",
       "A safetensors file, Hugging Face folder, index file, .npz archive\nor folder of .npy"})
      .files();
  add_input_options(command, inputs);
}

record::Inputs inputs_of(const std::string& path, record::Inputs inputs) {
  if (!path.empty()) inputs.paths.push_back(path);
  return inputs;
}

}  // namespace nf4bench::cli
