#include "plan/sources.hpp"

#include "base/error.hpp"
#include "base/text.hpp"
#include "nf4/synthetic.hpp"
#include "operation/operation.hpp"
#include "plan/presets.hpp"
#include "plan/words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string_view>
#include <utility>

namespace nf4bench::plan {
namespace {

TensorSource source_of(const io::Checkpoint& checkpoint, const io::TensorEntry& entry) {
  return {.name = entry.name,
          .source = entry.source,
          .geometry = {.shape = entry.shape,
                       .blocksize = entry.blocksize,
                       .absmax_kind = entry.absmax_kind},
          .dtype = entry.dtype,
          .multiplicity = 1,
          .load = [&checkpoint, &entry] { return checkpoint.load(entry); }};
}

TensorSource synthetic_source(const nf4::SyntheticSpec& spec, const std::string& source,
                              std::int64_t multiplicity) {
  return {.name = spec.name,
          .source = source,
          .geometry = {.shape = spec.shape,
                       .blocksize = spec.blocksize,
                       .absmax_kind = spec.absmax_kind},
          .dtype = spec.dtype,
          .multiplicity = multiplicity,
          .load = [spec] { return nf4::make_synthetic(spec); },
          .with_shape =
              [spec, source, multiplicity](std::vector<std::int64_t> shape) {
                nf4::SyntheticSpec other = spec;
                other.shape = std::move(shape);
                return synthetic_source(other, source, multiplicity);
              }};
}

constexpr const char* kDumps = "the files of --raw";

// All that `words` say, each read by `parse`.
template <typename Parse>
auto parse_all(const std::vector<std::string>& words, Parse parse) {
  std::vector<decltype(parse(words.front()))> parsed;
  parsed.reserve(words.size());
  for (const std::string& word : words) parsed.push_back(parse(word));
  return parsed;
}

// A shape that names no stack is a mistake, perhaps of spelling.
void check_stack_shapes(const std::vector<io::StackShape>& shapes,
                        const std::vector<const io::Checkpoint*>& checkpoints) {
  for (const io::StackShape& shape : shapes) {
    const auto has_stack = [&](const io::Checkpoint* checkpoint) {
      const auto& entries = checkpoint->tensors();
      return std::ranges::any_of(entries, [&](const io::TensorEntry& entry) {
        return entry.is_expert_stack && shape.names(entry.name);
      });
    };
    if (std::ranges::any_of(checkpoints, has_stack)) continue;
    throw Error(ErrorKind::kUsage,
                "--shape-of: no stack of experts in the input is called \"{}\" or ends in \".{}\"; "
                "\"nf4bench inspect --all\" lists names",
                escaped(shape.name), escaped(shape.name));
  }
}

// Opens every input, the dumps last.
std::vector<OneInput> open_inputs(const record::Inputs& inputs) {
  const auto shapes = parse_all(inputs.stack_shapes, parse_stack_shape);
  const auto dumps = parse_all(inputs.dumps, parse_raw);
  std::vector<OneInput> opened;
  for (const std::string& path : inputs.paths) {
    opened.push_back({path, io::Checkpoint::open(path, shapes)});
  }
  if (!dumps.empty()) opened.push_back({kDumps, io::Checkpoint::open_dumps(dumps)});
  std::vector<const io::Checkpoint*> searched;
  searched.reserve(opened.size());
  for (const OneInput& input : opened) searched.push_back(&input.checkpoint);
  check_stack_shapes(shapes, searched);
  return opened;
}

void require_nf4(const OneInput& input) {
  if (!input.checkpoint.tensors().empty()) return;
  throw Error(ErrorKind::kInput, describe_lack(input.name, input.checkpoint));
}

std::optional<record::Activation> activation_of(const io::ModelExperts& experts) {
  if (experts.model_type == "gpt_oss") return record::Activation::kGptOss;
  if (experts.activation == "gelu_pytorch_tanh") return record::Activation::kGeluTanh;
  if (experts.activation == "relu2") return record::Activation::kRelu2;
  if (experts.activation == "silu") return record::Activation::kSilu;
  return std::nullopt;
}

void add_input(Sources& sources, OneInput input, const NameFilter& filter) {
  require_nf4(input);
  sources.checkpoints.push_back(std::make_unique<io::Checkpoint>(std::move(input.checkpoint)));
  const io::Checkpoint& checkpoint = *sources.checkpoints.back();
  const std::filesystem::path config = checkpoint.model_config();
  const io::ModelExperts experts = config.empty() ? io::ModelExperts() : io::model_experts(config);
  const std::optional<record::Activation> activation = activation_of(experts);
  bool has_experts = experts.top_k > 0;
  for (const io::TensorEntry& entry : checkpoint.tensors()) {
    if (!filter.selects(entry.name)) continue;
    if (!entry.problem.empty()) {
      throw Error(
          ErrorKind::kInput,
          "{} (\"nf4bench inspect --all\" lists every tensor; --tensor selects the good ones)",
          entry.problem);
    }
    for (const std::string& warning : entry.warnings) {
      sources.warnings.push_back(fmt::format("{}: {}", escaped(entry.name), warning));
    }
    sources.tensors.push_back(source_of(checkpoint, entry));
    sources.tensors.back().top_k = experts.top_k;
    sources.tensors.back().activation = activation;
    sources.tensors.back().transposed = experts.transposed;
    has_experts = has_experts || entry.shape.size() == 3;
  }
  if (has_experts && !activation && !experts.activation.empty()) {
    sources.warnings.push_back(fmt::format(
        "config.json: the activation {} is not known here; whole layers of experts take silu "
        "unless --activation names another",
        in_quotes(experts.activation)));
  }
}

// "12 bfloat16 (for example "a.weight"), 1 LLM.int8 (...)": of the tensors that are not NF4, those
// that `filter` selects. Empty when there are none.
std::string list_others(const io::Checkpoint& checkpoint, const NameFilter& filter) {
  std::string text;
  for (const OtherCount& other : count_others(checkpoint, filter)) {
    text += fmt::format("{}{} {} (for example \"{}\")", text.empty() ? "" : ", ", other.count,
                        other.kind, escaped(other.example, 80));
  }
  return text;
}

bool looks_like_scales(std::string_view name) {
  return name.find("absmax") != std::string_view::npos;
}

// What to call arrays, one of which is named like the scales of an NF4 weight; else empty.
std::string naming_hint(const io::Checkpoint& checkpoint) {
  const auto& others = checkpoint.others();
  const bool has_scales = std::ranges::any_of(others, [](const io::OtherTensors& other) {
    return std::ranges::any_of(other.names, looks_like_scales);
  });
  if (!has_scales) return "";
  const std::vector<std::filesystem::path> files = checkpoint.files().files;
  const auto are_all = [&files](std::initializer_list<const char*> suffixes) {
    return std::ranges::all_of(files, [&](const auto& file) {
      return std::ranges::find(suffixes, file.extension()) != suffixes.end();
    });
  };
  if (are_all({".npz"})) {
    return "; with a member W belong W.absmax, W.quant_map and W.quant_state.json, and "
           "W.nested_absmax and W.nested_quant_map when scales are nested; members of other names "
           "are taken once they are unpacked (unzip), by --raw "
           "weight=weight.npy,absmax=absmax.npy,shape=OUTxIN,blocksize=64";
  }
  if (!are_all({".npy", ".json"})) {
    return "; with a weight W belong W.absmax, W.quant_map and W.quant_state.bitsandbytes__nf4, "
           "and W.nested_absmax and W.nested_quant_map when scales are nested";
  }
  return "; with W.npy belong W.absmax.npy, W.quant_map.npy and W.quant_state.json, and "
         "W.nested_absmax.npy and W.nested_quant_map.npy when scales are nested; files of other "
         "names are taken by --raw weight=weight.npy,absmax=absmax.npy,shape=OUTxIN,blocksize=64";
}

// Stacks come behind all tensors that other operations take, so that those keep their data.
bool takes_stacks(const record::RunOptions& options) {
  return std::ranges::any_of(operation::operations_of(options.operations),
                             [](const operation::Operation& each) {
                               return each.takes == operation::WeightKind::kStacks;
                             });
}

// What the filter leaves out has its seed all the same, so that it changes no data.
void add_synthetic(Sources& sources, const record::RunOptions& options, const NameFilter& filter) {
  nf4::SyntheticSpec spec;
  spec.blocksize = options.blocksize;
  spec.absmax_kind = options.absmax_kind;
  // Random codes, because the power that a GPU draws depends on the data.
  spec.distribution = nf4::Distribution::kRandomCodes;
  nf4::SyntheticSeeds seeds(options.seed);
  const auto add = [&](const std::string& source, std::int64_t multiplicity) {
    spec.seed = seeds.next(spec.shape);
    if (filter.selects(spec.name)) {
      sources.tensors.push_back(synthetic_source(spec, source, multiplicity));
    }
  };
  for (const std::string& word : options.shapes) {
    spec.shape = parse_shape(word);
    spec.name = word;
    add("synthetic", 1);
  }
  for (const std::string& name : options.presets) {
    for (const PresetLayer& layer : find_preset(name).layers) {
      spec.shape = {layer.out_features, layer.in_features};
      spec.name = layer.role;
      add("preset " + name, layer.count);
    }
  }
  if (!takes_stacks(options)) return;
  for (const std::string& name : options.presets) {
    const std::optional<PresetExperts>& experts = find_preset(name).experts;
    if (!experts) continue;
    const auto add_stack = [&](record::StackPart part, std::int64_t outputs, std::int64_t inputs) {
      spec.shape = {experts->experts, outputs, inputs};
      if (experts->transposed || options.transposed) std::swap(spec.shape[1], spec.shape[2]);
      spec.name = fmt::format("experts {}_proj", to_string(part));
      const std::size_t before = sources.tensors.size();
      add("preset " + name, experts->layers);
      if (sources.tensors.size() == before) return;
      sources.tensors.back().geometry.stack = {.part = part, .top_k = experts->top_k};
      sources.tensors.back().activation = experts->activation;
      sources.tensors.back().transposed = experts->transposed;
      sources.tensors.back().for_stacks = true;
    };
    add_stack(record::StackPart::kGateUp, 2 * experts->intermediate, experts->hidden);
    add_stack(record::StackPart::kDown, experts->hidden, experts->intermediate);
  }
}

// Everything about the options that can be wrong without looking at a file.
void check_options(const record::RunOptions& options) {
  const record::Inputs& inputs = options.inputs;
  if (inputs.paths.empty() && inputs.dumps.empty() && options.shapes.empty() &&
      options.presets.empty()) {
    throw Error(ErrorKind::kUsage,
                "run needs something to measure: a file or folder with NF4 tensors "
                "(data/llama_layer.safetensors is a small sample), --shape 4096x4096, or --preset "
                "llama-3.1-8b");
  }
  check_blocksize(options.blocksize);
  for (const std::string& word : options.shapes) parse_shape(word);
  for (const std::string& name : options.presets) find_preset(name);
}

}  // namespace

std::vector<OtherCount> count_others(const io::Checkpoint& checkpoint, const NameFilter& filter) {
  std::vector<OtherCount> counts;
  for (const io::OtherTensors& other : checkpoint.others()) {
    OtherCount found = {.kind = other.kind};
    for (const std::string_view name : other.names) {
      if (!filter.selects(std::string(name))) continue;
      if (++found.count == 1) found.example = name;
    }
    if (found.count > 0) counts.push_back(found);
  }
  return counts;
}

std::string describe_lack(const std::string& input, const io::Checkpoint& checkpoint) {
  const std::string others = list_others(checkpoint, NameFilter(""));
  return fmt::format("no NF4 tensor in {}; found {}{}", escaped(input),
                     others.empty() ? "no tensor at all" : others, naming_hint(checkpoint));
}

Error nothing_selected(const std::string& regex,
                       const std::vector<const io::Checkpoint*>& checkpoints) {
  const NameFilter filter(regex);
  std::string others;
  for (const io::Checkpoint* checkpoint : checkpoints) {
    const std::string found = list_others(*checkpoint, filter);
    others += (others.empty() || found.empty() ? "" : ", ") + found;
  }
  return {ErrorKind::kUsage,
          "--tensor: \"{}\" matches no NF4 tensor of the input{}; \"nf4bench inspect --all\" "
          "lists their names",
          escaped(regex), others.empty() ? "" : ", only " + others};
}

OneInput open_input(const record::Inputs& inputs) {
  if (inputs.paths.size() + (inputs.dumps.empty() ? 0 : 1) != 1) {
    throw Error(ErrorKind::kUsage,
                "wanted one input: a file or folder with NF4 tensors, or --raw "
                "weight=W.npy,absmax=A.npy,shape=OUTxIN,blocksize=64");
  }
  return std::move(open_inputs(inputs).front());
}

io::Checkpoint open_nf4(const record::Inputs& inputs) {
  OneInput input = open_input(inputs);
  require_nf4(input);
  return std::move(input.checkpoint);
}

Sources find_sources(const record::RunOptions& options) {
  check_options(options);
  const NameFilter filter(options.tensor_regex);
  Sources sources;
  for (OneInput& input : open_inputs(options.inputs)) add_input(sources, std::move(input), filter);
  add_synthetic(sources, options, filter);
  if (sources.tensors.empty()) {
    std::vector<const io::Checkpoint*> searched;
    for (const auto& checkpoint : sources.checkpoints) searched.push_back(checkpoint.get());
    throw nothing_selected(options.tensor_regex, searched);
  }
  return sources;
}

}  // namespace nf4bench::plan
