#include "plan/sources.hpp"

#include "base/error.hpp"
#include "base/text.hpp"
#include "plan/name_filter.hpp"
#include "plan/presets.hpp"
#include "plan/shape.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
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
          .load = [spec] { return nf4::make_synthetic(spec); }};
}

void add_input(Sources& sources, const std::string& input, const NameFilter& filter) {
  sources.checkpoints.push_back(std::make_unique<io::Checkpoint>(open_nf4(input)));
  const io::Checkpoint& checkpoint = *sources.checkpoints.back();
  for (const io::TensorEntry& entry : checkpoint.tensors()) {
    if (!filter.selects(entry.name)) continue;
    if (!entry.problem.empty()) {
      throw Error(ErrorKind::kInput,
                  fmt::format("{} (\"nf4bench inspect\" lists every tensor; --tensor selects the "
                              "good ones)",
                              entry.problem));
    }
    for (const std::string& warning : entry.warnings) {
      sources.warnings.push_back(fmt::format("{}: {}", escaped(entry.name), warning));
    }
    sources.tensors.push_back(source_of(checkpoint, entry));
  }
}

// "12 bfloat16 (for example "a.weight"), 1 LLM.int8 (...)": of the tensors that are not NF4, those
// that `filter` selects. Empty when there are none.
std::string list_others(const io::Checkpoint& checkpoint, const NameFilter& filter) {
  std::string text;
  for (const io::OtherTensors& other : checkpoint.others()) {
    std::vector<std::string_view> names;
    std::copy_if(other.names.begin(), other.names.end(), std::back_inserter(names),
                 [&](std::string_view name) { return filter.selects(std::string(name)); });
    if (names.empty()) continue;
    text += fmt::format("{}{} {} (for example \"{}\")", text.empty() ? "" : ", ", names.size(),
                        other.kind, escaped(names.front(), 80));
  }
  return text;
}

// Every synthetic tensor gets a seed of its own, so that no two hold the same bytes.
void add_synthetic(Sources& sources, const SourceRequest& request, const NameFilter& filter) {
  nf4::SyntheticSpec spec = request.synthetic;
  const auto add = [&](const std::string& source, std::int64_t multiplicity) {
    if (filter.selects(spec.name)) {
      sources.tensors.push_back(synthetic_source(spec, source, multiplicity));
    }
    ++spec.seed;
  };
  for (const std::string& word : request.shapes) {
    spec.shape = parse_shape(word);
    spec.name = word;
    add("synthetic", 1);
  }
  for (const std::string& name : request.presets) {
    for (const PresetLayer& layer : find_preset(name).layers) {
      spec.shape = {layer.out_features, layer.in_features};
      spec.name = layer.role;
      add("preset " + name, layer.count);
    }
  }
}

// Everything about the request that can be wrong without looking at a file.
void check_request(const SourceRequest& request) {
  if (request.inputs.empty() && request.shapes.empty() && request.presets.empty()) {
    throw Error(ErrorKind::kUsage,
                "run needs something to measure: a file or folder with NF4 tensors "
                "(data/llama_layer.safetensors is a small sample), --shape 4096x4096, or "
                "--preset llama-3.1-8b");
  }
  check_blocksize(request.synthetic.blocksize);
  for (const std::string& word : request.shapes) parse_shape(word);
  for (const std::string& name : request.presets) find_preset(name);
}

}  // namespace

std::string describe_lack(const std::string& input, const io::Checkpoint& checkpoint) {
  const std::string others = list_others(checkpoint, NameFilter(""));
  return fmt::format("no NF4 tensor in {}; found {}", escaped(input),
                     others.empty() ? "no tensor at all" : others);
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
          fmt::format("--tensor: \"{}\" matches no NF4 tensor of the input{}; \"nf4bench inspect\" "
                      "lists their names",
                      escaped(regex), others.empty() ? "" : ", only " + others)};
}

io::Checkpoint open_nf4(const std::string& input) {
  io::Checkpoint checkpoint = io::Checkpoint::open(input);
  if (!checkpoint.tensors().empty()) return checkpoint;
  throw Error(ErrorKind::kInput, describe_lack(input, checkpoint));
}

Sources find_sources(const SourceRequest& request) {
  check_request(request);
  const NameFilter filter(request.tensor_regex);
  Sources sources;
  for (const std::string& input : request.inputs) add_input(sources, input, filter);
  add_synthetic(sources, request, filter);
  if (sources.tensors.empty()) {
    std::vector<const io::Checkpoint*> searched;
    for (const auto& checkpoint : sources.checkpoints) searched.push_back(checkpoint.get());
    throw nothing_selected(request.tensor_regex, searched);
  }
  return sources;
}

}  // namespace nf4bench::plan
