#include "cli/nf4_model.hpp"

#include "base/atomic_file.hpp"
#include "cli/process.hpp"
#include "io/writers/writers.hpp"
#include "nf4/synthetic.hpp"

#include <nlohmann/json.hpp>

#include <cstring>
#include <filesystem>
#include <span>
#include <vector>

namespace nf4bench::test {
namespace {

namespace fs = std::filesystem;

using Entries = std::vector<io::OutputTensor>;

// Adds a tensor of bfloat16 whose bytes tell it from all others.
void add_other(Entries& entries, const std::string& name, std::int64_t rows, std::int64_t columns) {
  std::string bytes(static_cast<std::size_t>(rows * columns * 2), '\0');
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<char>(i * 7 + name.size() + i / 256);
  }
  entries.push_back(
      {.name = name,
       .dtype = "BF16",
       .shape = {rows, columns},
       .bytes = rows * columns * 2,
       .produce = [bytes](const io::ByteSink& sink) { sink(std::as_bytes(std::span(bytes))); }});
}

constexpr const char* kConfig = R"({
  "architectures": ["LlamaForCausalLM"],
  "hidden_size": 96,
  "rms_norm_eps": 1e-05,
  "quantization_config": {
    "bnb_4bit_quant_type": "nf4",
    "llm_int8_skip_modules": ["lm_head"],
    "load_in_4bit": true,
    "quant_method": "bitsandbytes"
  },
  "torch_dtype": "bfloat16",
  "vocab_size": 32
}
)";

}  // namespace

std::string write_mixed_file(const std::string& path) {
  const nf4::Nf4Tensor tensor = nf4::make_synthetic({.name = "q_proj.weight", .shape = {64, 96}});
  Entries entries = io::state_dict_entries(tensor);
  add_other(entries, "embed_tokens.weight", 32, 96);
  add_other(entries, "norm.weight", 1, 96);
  io::write_safetensors(path, entries);
  return path;
}

std::string write_model_folder(const std::string& path) {
  const fs::path folder = path;
  fs::create_directories(folder / "original");
  const nf4::Nf4Tensor q = nf4::make_synthetic({.name = "q_proj.weight", .shape = {64, 96}});
  const nf4::Nf4Tensor k = nf4::make_synthetic(
      {.name = "k_proj.weight", .shape = {32, 96}, .absmax_kind = nf4::AbsmaxKind::kPlain});
  Entries first;
  Entries second;
  for (io::OutputTensor& entry : io::state_dict_entries(q)) {
    (entry.name == q.name ? first : second).push_back(std::move(entry));
  }
  for (io::OutputTensor& entry : io::state_dict_entries(k)) second.push_back(std::move(entry));
  add_other(first, "embed_tokens.weight", 32, 96);
  add_other(first, "norm.weight", 1, 96);
  add_other(second, "lm_head.weight", 32, 96);
  add_other(second, "k_proj.bias", 1, 32);
  nlohmann::json map;
  for (const auto* shard : {&first, &second}) {
    const std::string name =
        shard == &first ? "model-00001-of-00002.safetensors" : "model-00002-of-00002.safetensors";
    io::write_safetensors(folder / name, *shard);
    for (const io::OutputTensor& entry : *shard) map[entry.name] = name;
  }
  write_file(folder / "model.safetensors.index.json",
             nlohmann::json{{"metadata", {{"total_size", 1}}}, {"weight_map", map}}.dump());
  write_file(folder / "config.json", kConfig);
  write_file(folder / "tokenizer.json", "{\"a\": \"\\u00e9\"}");
  write_file(folder / "chat_template.jinja", "{{ messages }}");
  write_file(folder / "pytorch_model.bin", "weights of another format");
  write_file(folder / ".gitattributes", "hidden");
  write_file(folder / "original/params.json", "{}");
  return path;
}

void write_split_weight(const std::string& packed, const std::string& state) {
  const nf4::Nf4Tensor tensor = nf4::make_synthetic({.name = "w", .shape = {8, 64}});
  Entries entries = io::state_dict_entries(tensor);
  io::write_safetensors(packed, {entries.front()});
  entries.erase(entries.begin());
  io::write_safetensors(state, entries);
}

std::string stored_bytes(const std::string& path, const std::string& name) {
  const std::string bytes = read_file(path);
  std::uint64_t header_bytes = 0;
  std::memcpy(&header_bytes, bytes.data(), sizeof(header_bytes));
  const auto header = nlohmann::json::parse(bytes.substr(8, header_bytes));
  const auto offsets = header.at(name).at("data_offsets").get<std::vector<std::size_t>>();
  return bytes.substr(8 + header_bytes + offsets[0], offsets[1] - offsets[0]);
}

}  // namespace nf4bench::test
