#include "io/writers/decoded_model.hpp"

#include "base/error.hpp"
#include "base/text.hpp"
#include "io/stored_tensors.hpp"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <map>
#include <set>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>

namespace nf4bench::io {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kShardEnding = ".safetensors";
constexpr const char* kDefaultIndex = "model.safetensors.index.json";

[[noreturn]] void refuse(const OutputTarget& target, ErrorKind kind, const std::string& problem) {
  throw Error(kind, "{}: {} {}", target.option, escaped(target.path), problem);
}

OutputTensor copied_tensor(const Checkpoint& checkpoint, const StoredTensor& tensor,
                           const std::function<void()>& on_piece) {
  return {.name = std::string(tensor.name),
          .dtype = std::string(facts(tensor.type).spelling),
          .shape = {tensor.shape.begin(), tensor.shape.end()},
          .bytes = static_cast<std::int64_t>(tensor.bytes),
          .produce = [&checkpoint, tensor, &on_piece](const ByteSink& sink) {
            checkpoint.copy(tensor, [&](std::span<const std::byte> piece) {
              if (on_piece) on_piece();
              sink(piece);
            });
          }};
}

// The file that each tensor of the decoded model belongs to, by the tensor's name.
std::map<std::string, fs::path> places(const Checkpoint& checkpoint) {
  const std::vector<fs::path> files = checkpoint.files().files;
  std::map<std::string, fs::path> places;
  for (const StoredTensor& tensor : checkpoint.rest()) {
    places.emplace(tensor.name, files[tensor.file]);
  }
  for (const TensorEntry& entry : checkpoint.tensors()) {
    places.emplace(entry.name, entry.source);
  }
  return places;
}

// True for an input whose whole model is a folder: shards, or an index of them.
bool is_model_folder(const Checkpoint& checkpoint) {
  const CheckpointFiles files = checkpoint.files();
  return !files.folder.empty() && files.files.front().native().ends_with(kShardEnding);
}

// They would stay packed in a model that says nothing of it.
void refuse_other_packed_weights(const Checkpoint& checkpoint) {
  const std::set<std::string> packed = {"FP4", "LLM.int8", "GPTQ", "GPTQ or AWQ"};
  for (const OtherTensors& other : checkpoint.others()) {
    if (!packed.contains(other.kind)) continue;
    throw Error(ErrorKind::kInput,
                "--complete: the input has {} {} weights (for example \"{}\"), which are not "
                "decoded here; leave --complete out to get the NF4 weights alone",
                other.names.size(), other.kind, escaped(other.names.front(), 80));
  }
}

// The tensors that are no part of an NF4 weight, to be copied byte for byte.
std::vector<OutputTensor> copied_tensors(const DecodedModel& output, const Checkpoint& checkpoint) {
  std::vector<OutputTensor> tensors;
  for (const StoredTensor& tensor : checkpoint.rest()) {
    tensors.push_back(copied_tensor(checkpoint, tensor, output.on_piece));
  }
  return tensors;
}

void check_model_folder(const OutputTarget& target, const Checkpoint& checkpoint) {
  const fs::path path = target.path;
  std::error_code error;
  if (path.empty() || path == "-" || path.native().ends_with(kShardEnding)) {
    refuse(target, ErrorKind::kUsage, "is no folder; with --complete a whole folder is written");
  }
  const bool exists = fs::exists(path, error);
  if (error || (exists && !fs::is_directory(path, error))) {
    refuse(target, ErrorKind::kOutput,
           error ? "cannot be written: " + error.message() : std::string("is no folder"));
  }
  if (!exists) return;
  if (fs::equivalent(path, checkpoint.files().folder, error)) {
    refuse(target, ErrorKind::kUsage, "is the folder of the input; name another one");
  }
  const bool is_empty = fs::is_empty(path, error);
  if ((is_empty && !error) || target.force) return;
  refuse(
      target, ErrorKind::kUsage,
      "has files in it; name another folder, or give --force to replace those of the same names");
}

// The folder of the whole model: each of `tensors` goes to the shard where its stored or packed
// form was. Shards without a tensor are left out.
ModelFolder complete_model(const std::string& path, const Checkpoint& checkpoint,
                           std::vector<OutputTensor> tensors) {
  const CheckpointFiles files = checkpoint.files();
  const std::map<std::string, fs::path> place_of = places(checkpoint);
  std::map<fs::path, std::vector<OutputTensor>> contents;
  for (OutputTensor& tensor : tensors) {
    contents[place_of.at(tensor.name)].push_back(std::move(tensor));
  }
  ModelFolder model;
  model.path = path;
  for (const fs::path& file : files.files) {
    if (!contents.contains(file)) continue;
    model.shards.push_back({file.filename().native(), std::move(contents.at(file))});
  }
  if (!files.index.empty()) model.index = files.index.filename().native();
  if (files.index.empty() && model.shards.size() > 1) model.index = kDefaultIndex;
  return model;
}

}  // namespace

void check_ending(const std::string& output) {
  if (std::filesystem::path(output).extension() == ".safetensors") return;
  throw Error(
      ErrorKind::kUsage, "-o: \"{}\" does not end in .safetensors, the format that is written{}",
      escaped(output),
      output == "-" ? "; a file appears when all of it is verified, which stdout cannot do" : "");
}

DecodedModel plan_decoded_model(const Checkpoint& checkpoint, OutputTarget target,
                                bool is_complete) {
  DecodedModel output = {.is_complete = is_complete,
                         .is_folder = is_complete && is_model_folder(checkpoint)};
  const CheckpointFiles files = checkpoint.files();
  if (!files.folder.empty()) target.read.push_back({files.folder, "the folder of the input"});
  if (output.is_folder) output.files = find_model_files(files);
  for (const auto& path : output.files.small) target.read.push_back({path, "a file of the input"});
  output.target = std::move(target);
  if (is_complete) refuse_other_packed_weights(checkpoint);
  if (output.is_folder) {
    check_model_folder(output.target, checkpoint);
  } else {
    check_ending(output.target.path);
    check_output(output.target);
  }
  return output;
}

void write_decoded_model(const DecodedModel& output, const Checkpoint& checkpoint,
                         std::vector<OutputTensor> tensors, const ConfigTypes& types,
                         const WriteOptions& options) {
  if (output.is_complete) {
    std::ranges::move(copied_tensors(output, checkpoint), std::back_inserter(tensors));
  }
  if (!output.is_folder) {
    write_safetensors(output.target.path, tensors, options);
    return;
  }
  ModelFolder model = complete_model(output.target.path, checkpoint, std::move(tensors));
  model.small = output.files.small;
  model.types = types;
  write_model(model, options);
}

}  // namespace nf4bench::io
