#include "cli/shared_options.hpp"

#include "base/nearest_names.hpp"
#include "base/parsed.hpp"
#include "base/text.hpp"
#include "operation/operation.hpp"
#include "plan/presets.hpp"
#include "plan/words.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace nf4bench::cli {
namespace {

double fraction_in(const std::string& option, const std::string& word) {
  const bool is_percent = word.ends_with('%');
  const auto number = parsed<double>(word.substr(0, word.size() - (is_percent ? 1 : 0)));
  const double value = number.value_or(0.0) / (is_percent ? 100.0 : 1.0);
  if (value > 0.0 && value < 1.0) return value;
  throw Error(ErrorKind::kUsage,
              "{}: found \"{}\", wanted a fraction above 0 and below 1, as 0.02 or 2%", option,
              escaped(word));
}

}  // namespace

Binding fraction(std::optional<double>& target) {
  Binding binding([](const std::string&) {});
  binding.take = [&target](const Option& option, const Words& words) {
    target.reset();
    if (!words.back().empty()) target = fraction_in(option.name(), words.back());
  };
  return binding;
}

Words device_words() {
  return {"auto", "cpu", "cuda"};
}

Words several_devices_words() {
  return {"auto", "cpu", "cuda", "all"};
}

Words operation_words() {
  Words words;
  for (const operation::Operation& each : operation::operations()) words.push_back(each.name);
  return words;
}

Words preset_words() {
  Words words;
  for (const plan::Preset& preset : plan::presets()) words.push_back(preset.name);
  return words;
}

Words output_type_words() {
  return {"float16", "bfloat16", "float32", "stored"};
}

nf4::OutputType parse_output_type(const std::string& word, const Words& words) {
  if (const auto type = plan::output_type_named(word)) return *type;
  throw not_one_of("--dtype", word, words);
}

std::vector<nf4::OutputType> parse_output_types(const Words& words) {
  if (words == Words{"stored"}) return {};
  std::vector<nf4::OutputType> types;
  for (const std::string& word : words) {
    if (word == "stored") {
      throw Error(ErrorKind::kUsage,
                  "--dtype: \"stored\" (the type each tensor names) stands alone; found \"{}\". "
                  "List the types wanted: float16, bfloat16, float32",
                  fmt::join(words, ","));
    }
    const nf4::OutputType type = parse_output_type(word, output_type_words());
    if (std::ranges::find(types, type) == types.end()) types.push_back(type);
  }
  return types;
}

std::int64_t parse_count(const std::string& option, const std::string& word, std::int64_t most) {
  const auto count = parsed<std::int64_t>(word);
  if (count && *count >= 1 && *count <= most) return *count;
  throw Error(ErrorKind::kUsage, "{}: \"{}\" is not a number from 1 to {}", option, escaped(word),
              most);
}

std::vector<std::int64_t> parse_tokens(const Words& words) {
  std::vector<std::int64_t> counts;
  for (const std::string& word : words) {
    const std::int64_t count = parse_count("--tokens", word, kMostTokens);
    if (std::ranges::find(counts, count) != counts.end()) {
      throw Error(ErrorKind::kUsage, "--tokens: {} is there twice", count);
    }
    counts.push_back(count);
  }
  return counts;
}

void add_scale_options(Command& command, int& blocksize, nf4::AbsmaxKind& kind) {
  command.add("--blocksize N", blocksize, "Elements that share a scale: 32 to 4096 [=]");
  const auto other = [&kind](bool is_plain) {
    kind = is_plain ? nf4::AbsmaxKind::kPlain : nf4::AbsmaxKind::kNested;
  };
  command.add("--plain", other, "Scales stored as float32").excludes("--nested");
  command.add(
      "--nested",
      [&kind](bool is_on) {
        if (is_on) kind = nf4::AbsmaxKind::kNested;
      },
      "Scales themselves quantized to 8 bits [default]");
}

Option& add_peers(Command& command, Words& words, bool& in_process) {
  // Foreign code runs only when the command line names it, and meets us only when that says so.
  command.add("--in-process", in_process,
              "Run peers in this process, not each in one of its own: for those who trust them, or "
              "want a debugger there. On a GPU they run so anyway",
              kCommandLineOnly);
  return command.add("--peer NAME=PATH", words,
                     "Variants of somebody else's library: bitsandbytes', or one made with "
                     "nf4bench_peer.h; a .cpp or .cu file of such a one; or functions of a Python "
                     "file (repeatable)",
                     kCommandLineOnly);
}

void warn_of_absent(const peer::LoadedPeers& loaded) {
  for (const std::string& warning : peer::absence_warnings(loaded)) warn(warning);
}

void add_input_options(Command& command, record::Inputs& inputs) {
  command.add("--raw KEY=VALUE", inputs.dumps,
              ".npy files of any names as one tensor: weight=W.npy,absmax=A.npy, "
              "shape=OUTxIN,blocksize=64, and if need be nested_absmax=FILE, "
              "nested_map=FILE,offset=NUMBER, quant_map=FILE, dtype=TYPE, name=NAME (repeatable)");
  command.add("--shape-of NAME=NxK", inputs.stack_shapes,
              "Outputs and inputs of each expert in the stacks whose names are or end in NAME, "
              "where neither the file nor config.json says (repeatable)");
}

void add_one_input(Command& command, record::Inputs& inputs) {
  command.add(
      "input",
      [&inputs](const std::string& path) {
        inputs.paths.clear();
        if (!path.empty()) inputs.paths.push_back(path);
      },
      "A safetensors file, Hugging Face folder, index file, .npz archive or folder of .npy",
      kFiles);
  add_input_options(command, inputs);
}

void add_report_inputs(Command& command, Words& inputs) {
  command.add("input", inputs, "Folders of reports, or reports", kRequired | kTakesAll | kFiles);
}

void add_variant_patterns(Command& command, Words& patterns) {
  command.add("--variant NAME", patterns, "Only these variants; * and ? are wildcards [all]", kList)
      .suggests(operation::built_in_variant_names());
}

void add_comparing(Command& command, Comparing& target, const char* threshold, const char* noise) {
  command.add("--metric NAME", choice(target.metric),
              "time, speedup, fraction_of_copy or energy [time]");
  add_variant_patterns(command, target.variants);
  command.add("--threshold FRACTION", fraction(target.threshold), threshold, kMayBeNumber);
  command.add("--noise FRACTION", fraction(target.noise), noise, kMayBeNumber);
}

}  // namespace nf4bench::cli
