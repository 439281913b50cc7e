#pragma once

#include "record/geometry.hpp"
#include "text/sheet.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace nf4bench::plan {

// One kind of quantized linear layer of a model.
struct PresetLayer {
  std::string role;  // "q_proj, o_proj"
  std::int64_t out_features = 0;
  std::int64_t in_features = 0;
  std::int64_t count = 0;  // how often the shape occurs in the whole model
};

// The experts of a model: stacks [experts, 2 intermediate, hidden] of gates and ups, and [experts,
// hidden, intermediate].
struct PresetExperts {
  std::int64_t layers = 0;  // that have experts
  std::int64_t experts = 0;
  std::int64_t top_k = 0;  // that a token chooses
  std::int64_t hidden = 0;
  std::int64_t intermediate = 0;
  std::int64_t shared = 0;  // intermediate size of what every token takes besides; 0: nothing
  record::Activation activation = record::Activation::kSilu;
  bool transposed = false;  // the model's files have matrices as [inputs, outputs]
};

// The quantized linear layers of a published model.
struct Preset {
  std::string name;     // "llama-3.1-8b"
  std::string summary;  // "Llama 3.1 8B, 32 layers"
  std::vector<PresetLayer> layers;
  std::optional<PresetExperts> experts{};
};

const std::vector<Preset>& presets();

// Throws Error(kUsage) with the nearest names when there is no such preset.
const Preset& find_preset(const std::string& name);

// All presets; of `name` its layers, which for programs are a part of the preset.
text::Sheet sheet_of_presets(const std::string& name, bool is_for_programs);

}  // namespace nf4bench::plan
