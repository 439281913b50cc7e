#include "plan/presets.hpp"

#include "error_of.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

namespace nf4bench {
namespace {

using test::error_of;
using testing::AllOf;
using testing::HasSubstr;

std::int64_t parameters(const plan::Preset& preset) {
  std::int64_t sum = 0;
  for (const plan::PresetLayer& layer : preset.layers) {
    sum += layer.out_features * layer.in_features * layer.count;
  }
  return sum;
}

std::int64_t count_of(const plan::Preset& preset, std::int64_t out_features,
                      std::int64_t in_features) {
  for (const plan::PresetLayer& layer : preset.layers) {
    if (layer.out_features == out_features && layer.in_features == in_features) return layer.count;
  }
  return 0;
}

// What a published model has besides its quantized linear layers.
struct Published {
  const char* name;
  std::int64_t total;  // parameters of the checkpoint, as its authors publish them
  std::int64_t embeddings;
  std::int64_t norms_and_others;  // norms, biases, attention sinks, routers kept as parameters
};

// Totals are those of the published checkpoints; the rest follows from vocabulary and hidden sizes.
const Published kPublished[] = {
    {"llama-3.2-1b", 1'235'814'400, 128'256 * 2048LL, 33 * 2048LL},
    {"llama-3.2-3b", 3'212'749'824, 128'256 * 3072LL, 57 * 3072LL},
    {"llama-3.1-8b", 8'030'261'248, 2 * 128'256 * 4096LL, 65 * 4096LL},
    {"llama-3.1-70b", 70'553'706'496, 2 * 128'256 * 8192LL, 161 * 8192LL},
    {"llama-3.1-405b", 405'853'388'800, 2 * 128'256 * 16'384LL, 253 * 16'384LL},
    {"llama-2-7b", 6'738'415'616, 2 * 32'000 * 4096LL, 65 * 4096LL},
    {"llama-2-13b", 13'015'864'320, 2 * 32'000 * 5120LL, 81 * 5120LL},
    {"mistral-7b", 7'248'023'552, 2 * 32'768 * 4096LL, 65 * 4096LL},
    {"mistral-nemo-12b", 12'247'782'400, 2 * 131'072 * 5120LL, 81 * 5120LL},
    {"mistral-small-24b", 23'572'403'200, 2 * 131'072 * 5120LL, 81 * 5120LL},
    {"mixtral-8x7b", 46'702'792'704, 2 * 32'000 * 4096LL, 65 * 4096LL},
    {"qwen2.5-0.5b", 494'032'768, 151'936 * 896LL, 49 * 896LL + 24 * 1152LL},
    {"qwen2.5-7b", 7'615'616'512, 2 * 152'064 * 3584LL, 57 * 3584LL + 28 * 4608LL},
    {"qwen2.5-32b", 32'763'876'352, 2 * 152'064 * 5120LL, 129 * 5120LL + 64 * 7168LL},
    {"qwen2.5-72b", 72'706'203'648, 2 * 152'064 * 8192LL, 161 * 8192LL + 80 * 10'240LL},
    {"qwen3-8b", 8'190'735'360, 2 * 151'936 * 4096LL, 73 * 4096LL + 36 * 256LL},
    {"qwen3-14b", 14'768'307'200, 2 * 151'936 * 5120LL, 81 * 5120LL + 40 * 256LL},
    {"qwen3-32b", 32'762'123'264, 2 * 151'936 * 5120LL, 129 * 5120LL + 64 * 256LL},
    {"qwen3-30b-a3b", 30'532'122'624, 2 * 151'936 * 2048LL, 97 * 2048LL + 48 * 256LL},
    {"gemma-2-27b", 27'227'128'320, 256'000 * 4608LL, 185 * 4608LL},
    // Text norms; then of the vision encoder: biases, norms, patch and position embeddings, and the
    // projector, which is a plain parameter.
    {"gemma-3-27b", 27'432'406'640, 262'208 * 5376LL,
     249 * 5376LL + 62 * 256LL + 27 * (5 * 1152 + 4304 + 4 * 1152LL) + 588 * 1152LL + 1152 +
         4096 * 1152LL + 2 * 1152 + 1152 * 5376LL + 1152},
    {"phi-3.5-mini", 3'821'079'552, 2 * 32'064 * 3072LL, 65 * 3072LL},
    {"phi-4", 14'659'507'200, 2 * 100'352 * 5120LL, 81 * 5120LL},
    {"gpt-oss-20b", 20'914'757'184, 2 * 201'088 * 2880LL,
     49 * 2880LL + 24 * (64 + 4096 + 2 * 512 + 2880 + 32 * (5760 + 2880LL) + 32 * 2880LL + 32)},
    {"deepseek-v2-lite", 15'706'484'224, 2 * 102'400 * 2048LL,
     55 * 2048LL + 27 * 512LL + 26 * 64 * 2048LL},
    {"deepseek-v3", 671'026'419'200, 2 * 129'280 * 7168LL,
     123 * 7168LL + 61 * 2048LL + 58 * 256 * 7168LL + 58 * 256LL},
    // No embeddings; biases of every layer and the query and key norms of head size 128.
    {"flux.1-dev", 11'901'408'320, 0,
     38 * (18'432 + 9216 + 3072 + 12'288 + 3072 + 256LL) + 38 * (21'504 + 3072 + 9216 + 256LL) +
         3072 + 3072 + 3 * 6144 + 64 + 6144LL},
};

// Experts: elements of a layer's gates and ups, and how many experts a token chooses, as published.
struct ExpertModel {
  const char* name;
  double elements;
  std::int64_t top_k;
};

const ExpertModel kExpertModels[] = {{"mixtral-8x7b", 0.94e9, 2},
                                     {"qwen3-30b-a3b", 0.40e9, 8},
                                     {"gpt-oss-20b", 0.53e9, 4},
                                     {"deepseek-v2-lite", 0.369e9, 6},
                                     {"deepseek-v3", 7.52e9, 8},
                                     {"qwen3-235b-a22b", 1.61e9, 8},
                                     {"qwen3-next-80b-a3b", 1.07e9, 10},
                                     {"qwen3.5-35b-a3b", 0.54e9, 8},
                                     {"gpt-oss-120b", 2.12e9, 4},
                                     {"glm-4.5", 2.52e9, 8},
                                     {"kimi-k2", 11.3e9, 8},
                                     {"gemma-4-26b-a4b", 0.51e9, 8},
                                     {"olmoe-1b-7b", 0.27e9, 8},
                                     {"llama-4-scout", 1.34e9, 1}};

TEST(Presets, HoldExactlyThePublishedModelsLinearLayers) {
  for (const Published& model : kPublished) {
    EXPECT_EQ(parameters(plan::find_preset(model.name)),
              model.total - model.embeddings - model.norms_and_others)
        << model.name;
  }
}

TEST(Presets, AreAllCheckedAgainstAPublishedTotal) {
  std::set<std::string> checked;
  for (const Published& model : kPublished) checked.insert(model.name);
  for (const ExpertModel& model : kExpertModels) checked.insert(model.name);
  for (const plan::Preset& preset : plan::presets())
    EXPECT_EQ(checked.count(preset.name), 1u) << preset.name;
}

TEST(Presets, HoldTheExpertsOfTheModelsThatHaveSome) {
  std::size_t with_experts = 0;
  for (const plan::Preset& preset : plan::presets()) with_experts += preset.experts ? 1 : 0;
  EXPECT_EQ(with_experts, std::size(kExpertModels));
  for (const ExpertModel& model : kExpertModels) {
    const plan::Preset& preset = plan::find_preset(model.name);
    ASSERT_TRUE(preset.experts) << model.name;
    const plan::PresetExperts& of = *preset.experts;
    const double elements = 2.0 * static_cast<double>(of.experts * of.intermediate * of.hidden);
    EXPECT_NEAR(elements / model.elements, 1.0, 0.02) << model.name;
    EXPECT_EQ(of.top_k, model.top_k) << model.name;
    // The same matrices as among the layers, which may have more of that shape.
    const std::int64_t matrices = of.layers * of.experts;
    EXPECT_GE(count_of(preset, of.hidden, of.intermediate), matrices) << model.name;
    EXPECT_GE(std::max(count_of(preset, of.intermediate, of.hidden),
                       2 * count_of(preset, 2 * of.intermediate, of.hidden)),
              2 * matrices)
        << model.name;
  }
}

TEST(Presets, OfLlama31With8BillionHasItsKnownLayers) {
  const plan::Preset& preset = plan::find_preset("llama-3.1-8b");
  EXPECT_EQ(parameters(preset), 6'979'321'856);
  ASSERT_EQ(preset.layers.size(), 4u);
  EXPECT_EQ(preset.layers[0].role, "q_proj, o_proj");
  EXPECT_EQ(count_of(preset, 4096, 4096), 64);
  EXPECT_EQ(count_of(preset, 1024, 4096), 64);
  EXPECT_EQ(count_of(preset, 14336, 4096), 64);
  EXPECT_EQ(count_of(preset, 4096, 14336), 32);
}

TEST(Presets, OfMixtralQuantizesItsRouters) {
  const plan::Preset& preset = plan::find_preset("mixtral-8x7b");
  EXPECT_EQ(count_of(preset, 8, 4096), 32);
  EXPECT_EQ(count_of(preset, 14336, 4096), 2 * 8 * 32);
  EXPECT_EQ(count_of(preset, 4096, 14336), 8 * 32);
}

TEST(Presets, OfFluxHasTwoStreamsInDoubleBlocks) {
  const plan::Preset& preset = plan::find_preset("flux.1-dev");
  EXPECT_EQ(count_of(preset, 12288, 3072), 38);
  EXPECT_EQ(count_of(preset, 18432, 3072), 38);
  EXPECT_EQ(count_of(preset, 9216, 3072), 38 + 38);  // qkv, and the modulation of single blocks
  EXPECT_EQ(count_of(preset, 3072, 3072), 38 + 3);   // proj, and three embedders
  EXPECT_EQ(count_of(preset, 21504, 3072), 38);
}

TEST(Presets, HaveDistinctNamesAndOneEntryAShape) {
  std::set<std::string> names;
  for (const plan::Preset& preset : plan::presets()) {
    EXPECT_TRUE(names.insert(preset.name).second) << preset.name;
    EXPECT_FALSE(preset.summary.empty());
    std::set<std::pair<std::int64_t, std::int64_t>> shapes;
    for (const plan::PresetLayer& layer : preset.layers) {
      EXPECT_FALSE(layer.role.empty());
      EXPECT_GT(layer.count, 0);
      EXPECT_TRUE(shapes.insert({layer.out_features, layer.in_features}).second) << layer.role;
    }
  }
}

TEST(Presets, NameTheNearestForAMisspeltOne) {
  EXPECT_THAT(error_of(ErrorKind::kUsage, [] { plan::find_preset("lama-3.1-8b"); }),
              AllOf(HasSubstr("\"lama-3.1-8b\""), HasSubstr("did you mean: llama-3.1-8b")));
}

TEST(Presets, ListAllForAWordThatResemblesNone) {
  const std::string message = error_of(ErrorKind::kUsage, [] { plan::find_preset("zzzzzzzzzz"); });
  for (const plan::Preset& preset : plan::presets()) EXPECT_THAT(message, HasSubstr(preset.name));
}

}  // namespace
}  // namespace nf4bench
