#include "io/writers/model_folder.hpp"

#include "base/error.hpp"
#include "base/text.hpp"
#include "io/byte_source.hpp"
#include "io/checkpoint/inventory.hpp"
#include "io/writers/writers.hpp"
#include "json/json_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <string_view>
#include <system_error>

namespace nf4bench::io {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMaxSmallBytes = std::uint64_t{256} << 20;
constexpr std::uint64_t kMaxCopiedConfigBytes = std::uint64_t{16} << 20;
constexpr std::string_view kConfigName = "config.json";

// Weights in formats that are not read here.
constexpr std::array<std::string_view, 9> kWeightEndings = {
    ".bin", ".pt", ".pth", ".ckpt", ".gguf", ".h5", ".msgpack", ".onnx", ".tflite"};

// Indexes of such weights would be followed to files that are not there.
constexpr std::string_view kOtherIndex = ".index.json";

bool holds_weights(std::string_view name) {
  return is_tensor_file_name(name) || name.ends_with(kOtherIndex) ||
         std::ranges::any_of(kWeightEndings,
                             [name](std::string_view ending) { return name.ends_with(ending); });
}

bool is_small_file(const fs::path& path) {
  std::error_code error;
  const bool is_regular = fs::is_regular_file(path, error);
  return is_regular && !holds_weights(path.filename().native()) &&
         fs::file_size(path, error) <= kMaxSmallBytes;
}

// A folder that is removed again at the end, unless there is something in it.
class MadeFolder {
 public:
  explicit MadeFolder(const fs::path& path) : path_(path) {
    std::error_code error;
    is_made_ = fs::create_directory(path, error);
    if (error) {
      throw output_error(path, fmt::format("the folder cannot be made: {}", error.message()));
    }
  }
  ~MadeFolder() {
    std::error_code ignored;
    if (is_made_) fs::remove(path_, ignored);
  }
  MadeFolder(const MadeFolder&) = delete;
  MadeFolder& operator=(const MadeFolder&) = delete;

 private:
  fs::path path_;
  bool is_made_ = false;
};

// The files of a model while they are written.
class ModelWriter {
 public:
  ModelWriter(const ModelFolder& model, const WriteOptions& options)
      : model_(model), options_(options) {}

  void write() {
    check_all();
    for (const ModelShard& shard : model_.shards) {
      files_.push_back(begin_safetensors(model_.path / shard.name, shard.tensors, options_));
    }
    for (const fs::path& source : model_.small) copy(source);
    if (!model_.index.empty()) begin(model_.index).write(index_text());
    check_all();
    // A folder that is left while files get their names has no index: nobody takes it for a model.
    if (!model_.index.empty()) fs::remove(model_.path / model_.index);
    for (const auto& file : files_) file->commit();
  }

 private:
  void check_all() const {
    if (!options_.check) return;
    for (const ModelShard& shard : model_.shards) options_.check(model_.path / shard.name);
    for (const fs::path& source : model_.small) options_.check(model_.path / source.filename());
    if (!model_.index.empty()) options_.check(model_.path / model_.index);
  }

  AtomicFile& begin(const fs::path& name) {
    const fs::path path = model_.path / name;
    remove_leftovers(path);
    files_.push_back(std::make_unique<AtomicFile>(path, check_of(options_, path)));
    return *files_.back();
  }

  void copy(const fs::path& path) {
    const ByteSource source = ByteSource::open(path);
    AtomicFile& file = begin(path.filename());
    if (path.filename() == kConfigName) {
      if (source.size() > kMaxCopiedConfigBytes) {
        throw input_error(source.name(), "size", fmt::format("{} bytes", source.size()),
                          fmt::format("at most {}", kMaxCopiedConfigBytes));
      }
      file.write(decoded_config(source.name(), source.read_text(0, source.size()), model_.types));
      return;
    }
    read_in_pieces(source, {.begin = 0, .bytes = source.size()},
                   [&](std::span<const std::byte> piece) { file.write(piece); });
  }

  // As transformers writes it, which counts the bytes of the tensors alone.
  std::string index_text() const {
    std::uint64_t bytes = 0;
    std::vector<json::JsonMember> places;
    for (const ModelShard& shard : model_.shards) {
      for (const OutputTensor& tensor : shard.tensors) {
        bytes += static_cast<std::uint64_t>(tensor.bytes);
        places.push_back({tensor.name, shard.name});
      }
    }
    std::ranges::sort(places, {}, &json::JsonMember::name);
    constexpr json::JsonLayout kLayout = json::JsonLayout::kExpanded;
    const json::JsonText metadata = json::json_object({{"total_size", bytes}}, kLayout);
    return json::json_object(
               {{"metadata", metadata}, {"weight_map", json::json_object(places, kLayout)}},
               kLayout)
               .text +
           '\n';
  }

  const ModelFolder& model_;
  const WriteOptions& options_;
  std::vector<std::unique_ptr<AtomicFile>> files_;  // in the order in which they get their names
};

}  // namespace

ModelFiles find_model_files(const CheckpointFiles& read) {
  std::set<fs::path> known = {read.index.filename()};
  for (const fs::path& file : read.files) known.insert(file.filename());
  ModelFiles found;
  std::error_code error;
  fs::directory_iterator end;
  for (fs::directory_iterator it(read.folder, error); !error && it != end; it.increment(error)) {
    const fs::path name = it->path().filename();
    if (name.native().starts_with('.') || known.contains(name)) continue;
    if (is_small_file(it->path())) {
      found.small.push_back(it->path());
    } else {
      found.left_out.push_back(name.native());
    }
  }
  if (error) {
    throw input_error(escaped(read.folder.native()),
                      fmt::format("the folder cannot be listed: {}", error.message()));
  }
  std::ranges::sort(found.small);
  std::ranges::sort(found.left_out);
  return found;
}

void write_model(const ModelFolder& model, const WriteOptions& options) {
  const MadeFolder folder(model.path);
  ModelWriter(model, options).write();
}

}  // namespace nf4bench::io
