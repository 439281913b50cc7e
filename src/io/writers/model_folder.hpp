#pragma once

#include "io/checkpoint/checkpoint.hpp"
#include "io/writers/writers.hpp"

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace nf4bench::io {

// The types that the config.json of a decoded model is to name, as "bfloat16".
struct ConfigTypes {
  std::string wanted;   // instead of the one that is there; empty: keep that
  std::string decoded;  // instead of one that weights cannot have
};

// The config.json of a quantized model as that of the decoded one: without quantization_config, and
// with the type that `types` says in torch_dtype or dtype, both wherever they stand. All else keeps
// its bytes. Throws Error(kInput) that begins with `where` for what is not one JSON object; the NaN
// and Infinity of Python are let through.
std::string decoded_config(const std::string& where, std::string_view text,
                           const ConfigTypes& types);

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
