#include "cli/options/choices.hpp"

#include "base/error.hpp"
#include "base/nearest_names.hpp"
#include "base/text.hpp"
#include "device/devices.hpp"
#include "plan/presets.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <utility>

namespace nf4bench::cli {
namespace {

template <class Value>
using Choices = std::vector<std::pair<std::string, Value>>;

const Choices<nf4::OutputType> kOutputTypeWords = {{"float16", nf4::OutputType::kFloat16},
                                                   {"bfloat16", nf4::OutputType::kBfloat16},
                                                   {"float32", nf4::OutputType::kFloat32}};
const Choices<record::CacheMode> kCacheWords = {{"cold", record::CacheMode::kCold},
                                                {"hot", record::CacheMode::kHot}};
const Choices<record::Activations> kActivationsWords = {{"normal", record::Activations::kNormal},
                                                        {"outlier", record::Activations::kOutlier}};
const Choices<record::LaunchMode> kLaunchWords = {{"graph", record::LaunchMode::kGraph},
                                                  {"stream", record::LaunchMode::kStream},
                                                  {"spaced", record::LaunchMode::kSpaced}};
const Choices<record::VerifyScope> kVerifyWords = {{"all", record::VerifyScope::kAll},
                                                   {"sampled", record::VerifyScope::kSampled}};
const Choices<bool> kSamplesWords = {{"all", true}, {"summary", false}};
const Choices<nf4::Distribution> kDistributionWords = {{"codes", nf4::Distribution::kRandomCodes},
                                                       {"normal", nf4::Distribution::kNormal},
                                                       {"outlier", nf4::Distribution::kOutlier},
                                                       {"uniform", nf4::Distribution::kUniform},
                                                       {"extremes", nf4::Distribution::kExtremes}};

template <class Value>
std::vector<std::string> words_in(const Choices<Value>& choices) {
  std::vector<std::string> words;
  for (const auto& [word, value] : choices) words.push_back(word);
  return words;
}

template <class Value>
Value choose(const std::string& option, const std::string& word, const Choices<Value>& choices) {
  for (const auto& [name, value] : choices) {
    if (name == word) return value;
  }
  throw not_one_of(option, word, words_in(choices));
}

// Each word once, in the order given.
template <class Value>
std::vector<Value> choose_list(const std::string& option, const std::vector<std::string>& words,
                               const Choices<Value>& choices) {
  std::vector<Value> values;
  for (const std::string& word : words) {
    const Value value = choose(option, word, choices);
    if (std::find(values.begin(), values.end(), value) == values.end()) values.push_back(value);
  }
  return values;
}

// What tables and other programs call the output types.
const std::pair<const char*, const char*> kOtherTypeNames[] = {
    {"fp16", "float16"}, {"f16", "float16"}, {"half", "float16"},  {"bf16", "bfloat16"},
    {"fp32", "float32"}, {"f32", "float32"}, {"float", "float32"}, {"single", "float32"}};

std::string own_name(const std::string& word) {
  for (const auto& [other, name] : kOtherTypeNames) {
    if (word == other) return name;
  }
  return word;
}

nf4::OutputType choose_output_type(const std::string& other) {
  const std::string word = own_name(other);
  for (const auto& [name, value] : kOutputTypeWords) {
    if (name == word) return value;
  }
  throw not_one_of("--dtype", word, and_word(output_type_words(), "stored"));
}

std::int64_t parse_token_count(const std::string& word) {
  std::int64_t count = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), count);
  const bool is_number = error == std::errc() && end == word.data() + word.size();
  if (is_number && count >= 1 && count <= kMostTokens) return count;
  throw Error(ErrorKind::kUsage, fmt::format("--tokens: \"{}\" is not a number from 1 to {}",
                                             escaped(word), kMostTokens));
}

}  // namespace

std::vector<std::string> output_type_words() {
  return words_in(kOutputTypeWords);
}

std::vector<std::string> operation_words() {
  std::vector<std::string> words;
  for (const operation::Operation& each : operation::operations()) words.push_back(each.name);
  return words;
}

std::vector<std::string> activations_words() {
  return words_in(kActivationsWords);
}

std::vector<std::string> cache_words() {
  return words_in(kCacheWords);
}

std::vector<std::string> launch_words() {
  return words_in(kLaunchWords);
}

std::vector<std::string> verify_words() {
  return words_in(kVerifyWords);
}

std::vector<std::string> samples_words() {
  return words_in(kSamplesWords);
}

std::vector<std::string> distribution_words() {
  return words_in(kDistributionWords);
}

std::vector<std::string> device_words() {
  return {"auto", "cpu", "cuda"};
}

std::vector<std::string> preset_words() {
  std::vector<std::string> words;
  for (const plan::Preset& preset : plan::presets()) words.push_back(preset.name);
  return words;
}

std::vector<std::string> and_word(std::vector<std::string> words, const std::string& word) {
  words.push_back(word);
  return words;
}

std::vector<nf4::OutputType> parse_output_types(const std::vector<std::string>& words) {
  if (words.empty() || words == std::vector<std::string>{"stored"}) return {};
  if (std::find(words.begin(), words.end(), "stored") != words.end()) {
    throw Error(ErrorKind::kUsage,
                fmt::format("--dtype: \"stored\" (the type each tensor names) stands alone; found "
                            "\"{}\". List the types wanted: float16, bfloat16, float32",
                            fmt::join(words, ",")));
  }
  std::vector<nf4::OutputType> types;
  for (const std::string& word : words) {
    const nf4::OutputType type = choose_output_type(word);
    if (std::find(types.begin(), types.end(), type) == types.end()) types.push_back(type);
  }
  return types;
}

nf4::OutputType parse_output_type(const std::string& word) {
  return choose("--dtype", own_name(word), kOutputTypeWords);
}

std::vector<std::int64_t> parse_tokens(const std::vector<std::string>& words) {
  std::vector<std::int64_t> counts;
  for (const std::string& word : words) {
    const std::int64_t count = parse_token_count(word);
    if (std::find(counts.begin(), counts.end(), count) != counts.end()) {
      throw Error(ErrorKind::kUsage, fmt::format("--tokens: {} is there twice", count));
    }
    counts.push_back(count);
  }
  return counts;
}

record::Activations parse_activations(const std::string& word) {
  for (const auto& [name, value] : kActivationsWords) {
    if (name == word) return value;
  }
  return record::Activations::kFile;
}

std::vector<record::CacheMode> parse_caches(const std::vector<std::string>& words) {
  return choose_list("--cache", words, kCacheWords);
}

std::vector<record::LaunchMode> parse_launches(const std::vector<std::string>& words) {
  return choose_list("--launch", words, kLaunchWords);
}

record::VerifyScope parse_verify(const std::string& word) {
  return choose("--verify", word, kVerifyWords);
}

bool parse_keep_samples(const std::string& word) {
  return choose("--samples", word, kSamplesWords);
}

nf4::Distribution parse_distribution(const std::string& word) {
  return choose("--distribution", word, kDistributionWords);
}

void check_device_names(const std::string& word) {
  if (!device::names_several(word)) device::check_device_name(word);
}

}  // namespace nf4bench::cli
