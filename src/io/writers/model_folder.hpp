#pragma once

#include "io/checkpoint/checkpoint.hpp"
#include "io/writers/model_config.hpp"
#include "io/writers/writers.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace nf4bench::io {

// The files of a model's folder that hold no tensors.
struct ModelFiles {
  std::vector<std::filesystem::path> small;  // configurations, tokenizer, code; config.json too
  std::vector<std::string> left_out;         // names of what is not copied, sorted
};

// Finds them beside the files of `read`: the regular files of at most 256 MiB that are no weights
// of any format. Folders are left out, hidden files are not even named. Throws Error(kInput).
ModelFiles find_model_files(const CheckpointFiles& read);

// One .safetensors file of a model.
struct ModelShard {
  std::string name;
  std::vector<OutputTensor> tensors;
};

// A decoded model to be written in the layout of transformers.
struct ModelFolder {
  std::filesystem::path path;
  std::vector<ModelShard> shards;            // each with a tensor at least
  std::string index;                         // its name; empty when one file needs none
  std::vector<std::filesystem::path> small;  // to be copied; config.json is rewritten
  ConfigTypes types;
};

// Makes the folder if it is missing, and writes all files to temporary names there. Only when all
// are whole they get their names, the index last. Throws Error; what was there before stays then,
// and a folder that was made is removed.
void write_model(const ModelFolder& model, const WriteOptions& options);

}  // namespace nf4bench::io
