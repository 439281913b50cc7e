#include "plan/presets.hpp"

#include "base/error.hpp"
#include "base/nearest_names.hpp"
#include "text/printers.hpp"

#include <fmt/format.h>

#include <utility>

namespace nf4bench::plan {

namespace {

// A decoder as most language models build it: grouped-query attention and a gated MLP.
struct Decoder {
  std::int64_t layers = 0;
  std::int64_t hidden = 0;
  std::int64_t query = 0;         // query heads x head size
  std::int64_t key_value = 0;     // key/value heads x head size
  std::int64_t intermediate = 0;  // of the MLP, or of one expert
  std::int64_t experts = 0;       // 0: one dense MLP a layer
};

// Joins roles of equal shape, in order of first appearance: one entry a shape.
std::vector<PresetLayer> merged(const std::vector<PresetLayer>& layers) {
  std::vector<PresetLayer> result;
  for (const PresetLayer& layer : layers) {
    PresetLayer* same = nullptr;
    for (PresetLayer& known : result) {
      if (known.out_features == layer.out_features && known.in_features == layer.in_features) {
        same = &known;
      }
    }
    if (same == nullptr) {
      result.push_back(layer);
    } else {
      same->role += ", " + layer.role;
      same->count += layer.count;
    }
  }
  return result;
}

std::vector<PresetLayer> attention_of(const Decoder& shape) {
  return {
      {"q_proj", shape.query, shape.hidden, shape.layers},
      {"o_proj", shape.hidden, shape.query, shape.layers},
      {"k_proj", shape.key_value, shape.hidden, shape.layers},
      {"v_proj", shape.key_value, shape.hidden, shape.layers},
  };
}

std::vector<PresetLayer> decoder(const Decoder& shape, const std::vector<PresetLayer>& extra = {}) {
  const std::int64_t mlps = shape.layers * (shape.experts == 0 ? 1 : shape.experts);
  const std::string prefix = shape.experts == 0 ? "" : "expert ";
  std::vector<PresetLayer> layers = attention_of(shape);
  layers.push_back({prefix + "gate_proj", shape.intermediate, shape.hidden, mlps});
  layers.push_back({prefix + "up_proj", shape.intermediate, shape.hidden, mlps});
  layers.push_back({prefix + "down_proj", shape.hidden, shape.intermediate, mlps});
  layers.insert(layers.end(), extra.begin(), extra.end());
  return merged(layers);
}

// A decoder of the Phi family: query, key and value are one matrix, and so are gate and up.
std::vector<PresetLayer> phi_decoder(const Decoder& shape) {
  return merged({
      {"qkv_proj", shape.query + 2 * shape.key_value, shape.hidden, shape.layers},
      {"o_proj", shape.hidden, shape.query, shape.layers},
      {"gate_up_proj", 2 * shape.intermediate, shape.hidden, shape.layers},
      {"down_proj", shape.hidden, shape.intermediate, shape.layers},
  });
}

// 27 layers of the SigLIP encoder that Gemma 3 sees with.
std::vector<PresetLayer> siglip_encoder() {
  return {
      {"vision q_proj, k_proj, v_proj, out_proj", 1152, 1152, 4 * 27},
      {"vision fc1", 4304, 1152, 27},
      {"vision fc2", 1152, 4304, 27},
  };
}

// gpt-oss keeps its experts apart in quantized form; its routers are plain parameters.
std::vector<PresetLayer> gpt_oss_20b() {
  constexpr std::int64_t kLayers = 24;
  constexpr std::int64_t kExperts = 32 * kLayers;
  std::vector<PresetLayer> layers = attention_of(
      {.layers = kLayers, .hidden = 2880, .query = 4096, .key_value = 512, .intermediate = 2880});
  layers.push_back({"expert gate_up_proj", 5760, 2880, kExperts});
  layers.push_back({"expert down_proj", 2880, 2880, kExperts});
  return merged(layers);
}

// Multi-head latent attention; one dense layer, then 64 routed experts and a double shared one.
std::vector<PresetLayer> deepseek_v2_lite() {
  constexpr std::int64_t kLayers = 27;
  constexpr std::int64_t kMoeLayers = kLayers - 1;
  return merged({
      {"q_proj", 3072, 2048, kLayers},
      {"kv_a_proj", 576, 2048, kLayers},
      {"kv_b_proj", 4096, 512, kLayers},
      {"o_proj", 2048, 2048, kLayers},
      {"gate_proj, up_proj", 10944, 2048, 2},
      {"down_proj", 2048, 10944, 1},
      {"expert gate_proj, up_proj", 1408, 2048, 2 * 64 * kMoeLayers},
      {"expert down_proj", 2048, 1408, 64 * kMoeLayers},
      {"shared gate_proj, up_proj", 2816, 2048, 2 * kMoeLayers},
      {"shared down_proj", 2048, 2816, kMoeLayers},
  });
}

// The same design at full size: three dense layers, then 256 routed experts and one shared.
std::vector<PresetLayer> deepseek_v3() {
  constexpr std::int64_t kLayers = 61;
  constexpr std::int64_t kDenseLayers = 3;
  constexpr std::int64_t kExperts = 257 * (kLayers - kDenseLayers);
  return merged({
      {"q_a_proj", 1536, 7168, kLayers},
      {"q_b_proj", 24576, 1536, kLayers},
      {"kv_a_proj", 576, 7168, kLayers},
      {"kv_b_proj", 32768, 512, kLayers},
      {"o_proj", 7168, 16384, kLayers},
      {"gate_proj, up_proj", 18432, 7168, 2 * kDenseLayers},
      {"down_proj", 7168, 18432, kDenseLayers},
      {"expert gate_proj, up_proj", 2048, 7168, 2 * kExperts},
      {"expert down_proj", 7168, 2048, kExperts},
  });
}

// 19 blocks with an image and a text stream each, then 38 blocks with one.
std::vector<PresetLayer> flux_1_dev() {
  constexpr std::int64_t kStreams = 2 * 19;
  constexpr std::int64_t kSingles = 38;
  return merged({
      {"img/txt_attn.qkv", 9216, 3072, kStreams},
      {"img/txt_attn.proj", 3072, 3072, kStreams},
      {"img/txt_mlp.0", 12288, 3072, kStreams},
      {"img/txt_mlp.2", 3072, 12288, kStreams},
      {"img/txt_mod.lin", 18432, 3072, kStreams},
      {"single linear1", 21504, 3072, kSingles},
      {"single linear2", 3072, 15360, kSingles},
      {"single modulation.lin", 9216, 3072, kSingles},
      {"img_in", 3072, 64, 1},
      {"txt_in", 3072, 4096, 1},
      {"time_in/guidance_in.in_layer", 3072, 256, 2},
      {"vector_in.in_layer", 3072, 768, 1},
      {"time_in/guidance_in/vector_in.out_layer", 3072, 3072, 3},
      {"final_layer.adaLN_modulation", 6144, 3072, 1},
      {"final_layer.linear", 64, 3072, 1},
  });
}

std::vector<Preset> llama_family() {
  return {
      {"llama-3.2-1b", "Llama 3.2 1B, 16 layers", decoder({16, 2048, 2048, 512, 8192})},
      {"llama-3.2-3b", "Llama 3.2 3B, 28 layers", decoder({28, 3072, 3072, 1024, 8192})},
      {"llama-3.1-8b", "Llama 3.1 8B, 32 layers", decoder({32, 4096, 4096, 1024, 14336})},
      {"llama-3.1-70b", "Llama 3.1 70B, 80 layers", decoder({80, 8192, 8192, 1024, 28672})},
      {"llama-3.1-405b", "Llama 3.1 405B, 126 layers", decoder({126, 16384, 16384, 1024, 53248})},
      {"llama-2-7b", "Llama 2 7B, 32 layers", decoder({32, 4096, 4096, 4096, 11008})},
      {"llama-2-13b", "Llama 2 13B, 40 layers", decoder({40, 5120, 5120, 5120, 13824})},
      {"mistral-7b", "Mistral 7B, 32 layers", decoder({32, 4096, 4096, 1024, 14336})},
      {"mistral-nemo-12b", "Mistral Nemo 12B, 40 layers", decoder({40, 5120, 4096, 1024, 14336})},
      {"mistral-small-24b", "Mistral Small 24B, 40 layers", decoder({40, 5120, 4096, 1024, 32768})},
      {"mixtral-8x7b", "Mixtral 8x7B, 32 layers of 8 experts, routers quantized too",
       decoder({32, 4096, 4096, 1024, 14336, 8}, {{"router gate", 8, 4096, 32}}),
       PresetExperts{32, 8, 2, 4096, 14336}},
  };
}

std::vector<Preset> qwen_family() {
  return {
      {"qwen2.5-0.5b", "Qwen2.5 0.5B, 24 layers", decoder({24, 896, 896, 128, 4864})},
      {"qwen2.5-7b", "Qwen2.5 7B, 28 layers", decoder({28, 3584, 3584, 512, 18944})},
      {"qwen2.5-32b", "Qwen2.5 32B and QwQ 32B, 64 layers", decoder({64, 5120, 5120, 1024, 27648})},
      {"qwen2.5-72b", "Qwen2.5 72B, 80 layers", decoder({80, 8192, 8192, 1024, 29568})},
      {"qwen3-8b", "Qwen3 8B, 36 layers", decoder({36, 4096, 4096, 1024, 12288})},
      {"qwen3-14b", "Qwen3 14B, 40 layers", decoder({40, 5120, 5120, 1024, 17408})},
      {"qwen3-32b", "Qwen3 32B, 64 layers", decoder({64, 5120, 8192, 1024, 25600})},
      {"qwen3-30b-a3b", "Qwen3 30B-A3B, 48 layers of 128 experts, routers quantized too",
       decoder({48, 2048, 4096, 512, 768, 128}, {{"router gate", 128, 2048, 48}}),
       PresetExperts{48, 128, 8, 2048, 768}},
  };
}

std::vector<Preset> other_families() {
  return {
      {"gemma-2-27b", "Gemma 2 27B, 46 layers", decoder({46, 4608, 4096, 2048, 36864})},
      {"gemma-3-27b", "Gemma 3 27B, 62 layers and the vision encoder's 27",
       decoder({62, 5376, 4096, 2048, 21504}, siglip_encoder())},
      {"phi-3.5-mini", "Phi 3.5 mini 3.8B, 32 layers", phi_decoder({32, 3072, 3072, 3072, 8192})},
      {"phi-4", "Phi 4 14B, 40 layers", phi_decoder({40, 5120, 5120, 1280, 17920})},
      {"gpt-oss-20b", "gpt-oss 20B, 24 layers of 32 experts", gpt_oss_20b(),
       PresetExperts{24, 32, 4, 2880, 2880, 0, record::Activation::kGptOss, true}},
      {"deepseek-v2-lite", "DeepSeek V2 Lite 16B, 27 layers, 26 of 64 + 2 experts",
       deepseek_v2_lite(), PresetExperts{26, 64, 6, 2048, 1408, 2816}},
      {"deepseek-v3", "DeepSeek V3 and R1 671B, 61 layers, 58 of 256 + 1 experts", deepseek_v3(),
       PresetExperts{58, 256, 8, 7168, 2048, 2048}},
      {"flux.1-dev", "FLUX.1 dev transformer 12B, 19 double and 38 single blocks", flux_1_dev()},
  };
}

// Models of which only the experts are here: nearly all of their bytes.
Preset experts_of(std::string name, const std::string& model, const PresetExperts& of) {
  const std::int64_t matrices = of.layers * of.experts;
  std::vector<PresetLayer> layers = {
      {"expert gate_proj, up_proj", of.intermediate, of.hidden, 2 * matrices},
      {"expert down_proj", of.hidden, of.intermediate, matrices}};
  if (of.shared > 0) {
    layers.push_back({"shared gate_proj, up_proj", of.shared, of.hidden, 2 * of.layers});
    layers.push_back({"shared down_proj", of.hidden, of.shared, of.layers});
  }
  return {std::move(name),
          fmt::format("{}, experts alone: {} layers of {}{}", model, of.layers, of.experts,
                      of.shared > 0 ? " + 1" : ""),
          merged(layers), of};
}

std::vector<Preset> expert_models() {
  return {
      experts_of("qwen3-235b-a22b", "Qwen3 235B-A22B", {94, 128, 8, 4096, 1536}),
      experts_of("qwen3-next-80b-a3b", "Qwen3 Next 80B-A3B", {48, 512, 10, 2048, 512, 512}),
      experts_of("qwen3.5-35b-a3b", "Qwen3.5 35B-A3B", {40, 256, 8, 2048, 512, 512}),
      experts_of("gpt-oss-120b", "gpt-oss 120B",
                 {36, 128, 4, 2880, 2880, 0, record::Activation::kGptOss, true}),
      experts_of("glm-4.5", "GLM 4.5 and 4.7 355B", {89, 160, 8, 5120, 1536, 1536}),
      experts_of("kimi-k2", "Kimi K2 1T", {60, 384, 8, 7168, 2048, 2048}),
      experts_of("gemma-4-26b-a4b", "Gemma 4 26B-A4B",
                 {30, 128, 8, 2816, 704, 0, record::Activation::kGeluTanh}),
      experts_of("olmoe-1b-7b", "OLMoE 1B-7B", {16, 64, 8, 2048, 1024}),
      experts_of("llama-4-scout", "Llama 4 Scout 109B",
                 {48, 16, 1, 5120, 8192, 8192, record::Activation::kSilu, true}),
  };
}

std::vector<Preset> make_presets() {
  std::vector<Preset> all;
  for (const auto& family : {llama_family(), qwen_family(), other_families(), expert_models()}) {
    all.insert(all.end(), family.begin(), family.end());
  }
  return all;
}

text::Columns<PresetLayer> layer_columns() {
  return {{{.name = "shape (out x in)", .key = "shape"},
           [](const PresetLayer& each) {
             return text::Value::Shape{each.out_features, each.in_features};
           }},
          {{.name = "tensors", .key = "count"}, &PresetLayer::count},
          {{.name = "layers", .key = "role"}, &PresetLayer::role}};
}

std::int64_t tensors_of(const Preset& preset) {
  std::int64_t tensors = 0;
  for (const PresetLayer& layer : preset.layers) tensors += layer.count;
  return tensors;
}

text::Columns<Preset> preset_columns() {
  return {{{.name = "preset", .key = "name"}, &Preset::name},
          {{.name = "shapes"}, [](const Preset& each) { return each.layers.size(); }},
          {{.name = "tensors"}, tensors_of},
          {{.name = "model", .key = "summary", .least = 10}, &Preset::summary},
          {{.key = "layers"}, [](const Preset& each) {
             return json_rows(text::sheet_of(layer_columns(), each.layers),
                              json::JsonLayout::kExpanded);
           }}};
}

}  // namespace

const std::vector<Preset>& presets() {
  static const std::vector<Preset> kPresets = make_presets();
  return kPresets;
}

const Preset& find_preset(const std::string& name) {
  std::vector<std::string> names;
  for (const Preset& preset : presets()) {
    if (preset.name == name) return preset;
    names.push_back(preset.name);
  }
  const std::vector<std::string> nearest = nearest_names(name, names);
  throw Error(ErrorKind::kUsage,
              "There is no preset \"{}\"; {}: {} (nf4bench list presets shows all)", name,
              nearest.empty() ? "there are" : "did you mean",
              fmt::join(nearest.empty() ? names : nearest, ", "));
}

text::Sheet sheet_of_presets(const std::string& name, bool is_for_programs) {
  if (name.empty()) return text::sheet_of(preset_columns(), presets());
  const Preset& preset = find_preset(name);
  if (!is_for_programs) return text::sheet_of(layer_columns(), preset.layers);
  return text::sheet_of(preset_columns(), std::vector<Preset>{preset});
}

}  // namespace nf4bench::plan
