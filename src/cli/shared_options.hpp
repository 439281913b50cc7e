#pragma once

#include "cli/command.hpp"
#include "compare/metric.hpp"
#include "peer/peers.hpp"
#include "record/fields.hpp"
#include "record/run_options.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace nf4bench::cli {

// What several commands take, and how words become values.

// The words of an option, and what they mean.
template <class Value>
using Choices = std::vector<std::pair<std::string, Value>>;

template <class Value>
Words words_of(const Choices<Value>& choices) {
  Words words;
  for (const auto& [word, value] : choices) words.push_back(word);
  return words;
}

// Enumerated values under the names that reports give them.
template <class Values>
auto choices_of(const Values& values) {
  Choices<std::decay_t<decltype(*std::begin(values))>> choices;
  for (const auto value : values) choices.push_back({to_string(value), value});
  return choices;
}

// One of `choices`.
template <class Value>
Binding choice(Value& target, const Choices<Value>& choices) {
  Binding binding([&target, choices](const std::string& word) {
    for (const auto& [name, value] : choices) {
      if (name == word) target = value;
    }
  });
  binding.choices = words_of(choices);
  binding.is_choice = true;
  return binding;
}

// Some of them, each once, in the order given.
template <class Value>
Binding choice(std::vector<Value>& targets, const Choices<Value>& choices) {
  Binding binding([&targets, choices](const Words& words) {
    targets.clear();
    for (const std::string& word : words) {
      for (const auto& [name, value] : choices) {
        if (name == word && std::ranges::find(targets, value) == targets.end()) {
          targets.push_back(value);
        }
      }
    }
  });
  binding.choices = words_of(choices);
  binding.is_choice = true;
  return binding;
}

// Any of the values of an enumeration that options have.
template <class Value>
Binding choice(Value& target) {
  return choice(target, choices_of(kWords<Value>));
}
template <class Value>
Binding choice(std::vector<Value>& targets) {
  return choice(targets, choices_of(kWords<Value>));
}

// A fraction above 0 and below 1: "0.02" or "2%"; none for an empty word.
Binding fraction(std::optional<double>& target);

// Words to offer.
Words device_words();           // besides cuda:N
Words several_devices_words();  // besides cuda:0,2
Words operation_words();
Words preset_words();
Words output_type_words();  // with "stored"

// float16, bfloat16 or float32, also under the names that other programs give them: fp16, half. An
// error lists `words`.
nf4::OutputType parse_output_type(const std::string& word, const Words& words);

// The empty list for "stored", which means the type that the state of each tensor names.
std::vector<nf4::OutputType> parse_output_types(const Words& words);

inline constexpr int kMostSeconds = 86400;  // of options that say how long

// From 1 to `most`, as `option` has it.
std::int64_t parse_count(const std::string& option, const std::string& word, std::int64_t most);

inline constexpr std::int64_t kMostTokens = 65536;

// Of --tokens: each from 1 to kMostTokens, none twice.
std::vector<std::int64_t> parse_tokens(const Words& words);

// Of synthetic weights: --blocksize, and --plain and --nested, which exclude each other; nested is
// the default.
void add_scale_options(Command& command, int& blocksize, nf4::AbsmaxKind& kind);

// --peer NAME=PATH, in every command that has variants.
Option& add_peers(Command& command, Words& words, bool& in_process);

// Writes absence_warnings() to stderr.
void warn_of_absent(const peer::LoadedPeers& loaded);

// --raw and --shape-of.
void add_input_options(Command& command, record::Inputs& inputs);

// The argument "input" of a command that reads one input, which --raw may give instead, and these.
void add_one_input(Command& command, record::Inputs& inputs);

// The argument "input" of a command that reads reports.
void add_report_inputs(Command& command, Words& inputs);

// --variant of commands that show what was measured.
void add_variant_patterns(Command& command, Words& patterns);

// --metric, --variant, --threshold and --noise of commands that compare.
struct Comparing {
  compare::Metric metric = compare::Metric::kTime;
  Words variants;
  std::optional<double> threshold;  // none: the default
  std::optional<double> noise;
};
void add_comparing(Command& command, Comparing& target, const char* threshold, const char* noise);

}  // namespace nf4bench::cli
