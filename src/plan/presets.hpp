#pragma once

#include <cstdint>
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

// The quantized linear layers of a published model.
struct Preset {
  std::string name;     // "llama-3.1-8b"
  std::string summary;  // "Llama 3.1 8B, 32 layers"
  std::vector<PresetLayer> layers;
};

const std::vector<Preset>& presets();

// Throws Error(kUsage) with the nearest names when there is no such preset.
const Preset& find_preset(const std::string& name);

}  // namespace nf4bench::plan
