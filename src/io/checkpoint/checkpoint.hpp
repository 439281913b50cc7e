#pragma once

#include "base/words.hpp"
#include "io/byte_source.hpp"
#include "io/checkpoint/expert_stack.hpp"
#include "io/checkpoint/raw_dump.hpp"
#include "io/stored_tensors.hpp"
#include "nf4/tensor.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace nf4bench::io {

// How the packed weight's bytes are typed in the file (bitsandbytes' quant_storage).
enum class StorageType : std::uint8_t { kUint8, kBfloat16, kFloat16, kFloat32 };

constexpr auto words(StorageType /*any*/) {
  using enum StorageType;
  return std::to_array<Word<StorageType>>(
      {{kUint8, "uint8"}, {kBfloat16, "bfloat16"}, {kFloat16, "float16"}, {kFloat32, "float32"}});
}

// One NF4 tensor found in an input: everything but its data. Lengths are checked already.
struct TensorEntry {
  std::string name;
  std::string source;               // file that holds the packed weight
  std::vector<std::int64_t> shape;  // empty when no quant state could be read
  std::int64_t elements = 0;        // this and the next four follow from the quant state
  int blocksize = 0;
  nf4::AbsmaxKind absmax_kind = nf4::AbsmaxKind::kNested;
  nf4::OutputType dtype = nf4::OutputType::kBfloat16;
  std::int64_t packed_bytes = 0;
  std::int64_t state_bytes = 0;        // absmax, nested state and maps; 0 when one of them is wrong
  std::optional<StorageType> storage;  // of the packed weight, when it is there and fits
  bool is_expert_stack = false;        // see expert_stack.hpp
  std::vector<std::string> warnings;   // odd, but decodable
  std::string problem;                 // why it cannot be decoded, one line; empty when it can

  bool has_state() const { return !shape.empty(); }
};

// Tensors of another kind that an input holds: "bfloat16", "FP4", "LLM.int8", "GPTQ", ...
struct OtherTensors {
  std::string kind;
  std::vector<std::string_view> names;  // at least one; borrowed from the checkpoint
};

// Where an input was read from, damaged files included.
struct CheckpointFiles {
  std::vector<std::filesystem::path> files;  // that hold tensors, or the offset of a dump
  std::filesystem::path index;               // of shards; empty when none was read
  std::filesystem::path config;              // of the model; empty when it was not needed
  std::filesystem::path folder;              // whose files these are; empty for a single file
};

// An opened input: a .safetensors file, a Hugging Face folder or its index, a .npy folder, a .npz
// archive, or .npy files of any names.
class Checkpoint {
 public:
  // Reads headers and quant states, no weights. Throws Error(kInput) in one line when the input as
  // a whole is unusable; a tensor with a problem of its own is listed with it instead. The first of
  // `shapes` that names an expert stack says what is in it, else the model's config.json.
  static Checkpoint open(const std::filesystem::path& path,
                         const std::vector<StackShape>& shapes = {});

  // The same for dumps whose files have any names. Throws Error(kUsage) when two have one name.
  static Checkpoint open_dumps(const std::vector<RawDump>& dumps);

  // The same for the bytes of one file, .npz when `name` ends so and .safetensors when not; `name`
  // stands in messages for its path.
  static Checkpoint open_memory(const std::string& name, std::vector<std::byte> bytes);

  Checkpoint(Checkpoint&&) noexcept;
  Checkpoint& operator=(Checkpoint&&) noexcept;
  ~Checkpoint();

  // NF4 tensors in natural name order (layers.2 before layers.10).
  const std::vector<TensorEntry>& tensors() const;
  const std::vector<OtherTensors>& others() const;  // by kind

  CheckpointFiles files() const;

  // The model's config.json, whether it was needed or not; empty when there is none.
  std::filesystem::path model_config() const;

  // The stored tensors that are no part of an NF4 weight, in the order of the files. Borrowed.
  std::vector<StoredTensor> rest() const;

  // Hands the bytes of one of them to `sink`, in pieces of at most 16 MiB; those of an archive in
  // one. Throws Error(kInput).
  void copy(const StoredTensor& tensor, const ByteSink& sink) const;

  // Reads one tensor. Throws Error(kInput) for an entry with a problem, or when reading fails.
  nf4::Nf4Tensor load(const TensorEntry& entry) const;

 private:
  struct Impl;
  explicit Checkpoint(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace nf4bench::io
