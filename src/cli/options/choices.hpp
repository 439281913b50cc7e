#pragma once

#include "base/nearest_names.hpp"
#include "nf4/synthetic.hpp"
#include "operation/operation.hpp"
#include "record/run_options.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace nf4bench::cli {

// Words of the command line turned into typed values. All throw Error(kUsage) in one line that
// names the option, what was found, what is allowed and the nearest allowed word.

// "--tokens" takes numbers from 1 to this.
inline constexpr std::int64_t kMostTokens = 65536;

// The words that options take; the parse functions below refuse all others.
std::vector<std::string> output_type_words();  // without "stored"
std::vector<std::string> operation_words();
std::vector<std::string> activations_words();  // besides a file
std::vector<std::string> cache_words();
std::vector<std::string> launch_words();
std::vector<std::string> verify_words();
std::vector<std::string> samples_words();
std::vector<std::string> distribution_words();
std::vector<std::string> device_words();  // besides cuda:N and all
std::vector<std::string> preset_words();

// `words`, then `word`.
std::vector<std::string> and_word(std::vector<std::string> words, const std::string& word);

// The empty list for "stored", which means the type that the state of each tensor names.
std::vector<nf4::OutputType> parse_output_types(const std::vector<std::string>& words);

// One of float16, bfloat16 and float32.
nf4::OutputType parse_output_type(const std::string& word);

// Numbers of tokens, each once.
std::vector<std::int64_t> parse_tokens(const std::vector<std::string>& words);

// Activations::kFile for a word that is none of activations_words().
record::Activations parse_activations(const std::string& word);

std::vector<record::CacheMode> parse_caches(const std::vector<std::string>& words);
std::vector<record::LaunchMode> parse_launches(const std::vector<std::string>& words);
record::VerifyScope parse_verify(const std::string& word);
bool parse_keep_samples(const std::string& word);  // whether the report gets every sample
nf4::Distribution parse_distribution(const std::string& word);

// The same for commands that take several devices at once: all, cuda:all and cuda:0,2 as well.
void check_device_names(const std::string& word);

}  // namespace nf4bench::cli
