#include "operation/dequantize.hpp"

#include "base/signals.hpp"
#include "base/terminal.hpp"
#include "base/text.hpp"
#include "cli/commands/commands.hpp"
#include "cli/files.hpp"
#include "cli/progress.hpp"
#include "cli/shared_options.hpp"
#include "device/devices.hpp"
#include "io/writers/decoded_model.hpp"
#include "io/writers/writers.hpp"
#include "nf4/finiteness.hpp"
#include "nf4/reference.hpp"
#include "operation/judge.hpp"
#include "operation/operation.hpp"
#include "operation/weight.hpp"
#include "operation/wrong_output.hpp"
#include "plan/plan.hpp"
#include "plan/sources.hpp"
#include "plan/words.hpp"
#include "text/units.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace nf4bench::cli {
namespace {

constexpr char kExamples[] = R"(Examples:
  Decode every NF4 tensor of a file, on the best device:
    nf4bench dequantize data/llama_layer.safetensors -o decoded.safetensors
  One tensor with a certain variant, as float32:
    nf4bench dequantize data/llama_layer.safetensors -o down.safetensors --tensor down_proj \
      --device cpu --variant lut --dtype float32
  A whole model, as transformers loads it:
    nf4bench dequantize data/sharded/ -o decoded/ --complete
Every value is compared with the CPU reference; on a mismatch nothing is written (exit code 4).)";

struct Arguments {
  record::Inputs inputs;
  std::string output;
  std::string device = "auto";
  Words peers;
  bool in_process = false;
  std::string variant;                  // empty: the device's flagship
  std::optional<nf4::OutputType> type;  // none: what each tensor names
  std::string tensor_regex;
  bool complete = false;
  bool force = false;
  bool quiet = false;
};

const char* safetensors_dtype(nf4::OutputType type) {
  return type == nf4::OutputType::kFloat16    ? "F16"
         : type == nf4::OutputType::kBfloat16 ? "BF16"
                                              : "F32";
}

// The variant of this name, or the device's flagship: the last resort is the first one.
kernels::Variant choose_variant(const std::string& word, const device::Device& device,
                                const peer::Peers& peers) {
  if (!word.empty()) {
    const std::vector<plan::SelectedVariant> selected =
        plan::select_variants(peers.variants(), peer::without_absent_peers({word}, {&peers}));
    if (selected.size() == 1) return selected.front().variant;
    throw Error(ErrorKind::kUsage, "--variant: \"{}\" matches {} variants; wanted one",
                escaped(word), selected.size());
  }
  const kernels::Catalog& catalog = operation::dequantize().catalog(device.info().kind);
  const std::string flagship = catalog.flagship;
  const auto& variants = catalog.variants;
  const auto found = std::ranges::find(variants, flagship, &kernels::Variant::name);
  return found == variants.end() ? variants.front() : *found;
}

// Decodes `tensor` and returns the bytes, which are the reference's bit for bit.
std::vector<std::byte> decode(device::Device& device, const kernels::Variant& variant,
                              const nf4::Nf4Tensor& tensor, nf4::OutputType type) {
  const auto workload =
      device.upload(operation::dequantize_work(tensor, type), device::UploadPurpose::kVerify);
  const std::string reason = workload->unsupported(variant);
  if (!reason.empty()) {
    throw Error(ErrorKind::kUsage, "{} cannot decode {} on {}: {}; choose another --variant",
                variant.name, escaped(tensor.name), device.info().id, reason);
  }
  std::vector<std::byte> output = workload->output_of(variant);
  const std::vector<std::byte> expected = nf4::reference_dequantize(tensor, type);
  record::Verification comparison = operation::compare_outputs(type, expected, output);
  if (!comparison.is_exact()) {
    comparison.first_wrong = operation::explain_decoded(tensor, operation::problem_of(tensor, type),
                                                        expected, output, comparison);
    throw Error(ErrorKind::kVerification, "{} decodes {} wrongly on {}: {}; nothing was written",
                variant.name, escaped(tensor.name), device.info().id,
                operation::describe_mismatch(comparison));
  }
  return output;
}

void stop_when_interrupted(const std::atomic<bool>& interrupted) {
  if (interrupted.load()) {
    throw Error(ErrorKind::kOutput, "interrupted; nothing was written");
  }
}

void warn_of_non_finite(const nf4::Nf4Tensor& tensor, nf4::OutputType type,
                        ProgressLine& progress) {
  const std::string found = nf4::describe_non_finite(tensor, type);
  if (found.empty()) return;
  progress.clear();
  warn(fmt::format("{}: {}", escaped(tensor.name), found));
}

// The entries that --tensor selects, all of them decodable.
std::vector<io::TensorEntry> select_entries(const io::Checkpoint& checkpoint,
                                            const std::string& regex) {
  const plan::NameFilter filter(regex);
  std::vector<io::TensorEntry> selected;
  for (const io::TensorEntry& entry : checkpoint.tensors()) {
    if (!filter.selects(entry.name)) continue;
    if (!entry.problem.empty()) throw Error(ErrorKind::kInput, entry.problem);
    selected.push_back(entry);
  }
  if (selected.empty()) throw plan::nothing_selected(regex, {&checkpoint});
  return selected;
}

// What decodes while the output file is written. Borrowed.
struct Decoding {
  const io::Checkpoint& checkpoint;
  device::Device& device;
  const kernels::Variant& variant;
  ProgressLine& progress;
};

std::vector<std::byte> decode_entry(const Decoding& decoding, const io::TensorEntry& entry,
                                    nf4::OutputType type) {
  const nf4::Nf4Tensor tensor = decoding.checkpoint.load(entry);
  warn_of_non_finite(tensor, type, decoding.progress);
  return decode(decoding.device, decoding.variant, tensor, type);
}

// `entry` as a tensor of the output file; `produce` gives its bytes.
io::OutputTensor output_tensor(const io::TensorEntry& entry, nf4::OutputType type,
                               std::function<void(const io::ByteSink&)> produce) {
  const auto element_bytes = static_cast<std::int64_t>(nf4::size_in_bytes(type));
  return {.name = entry.name,
          .dtype = safetensors_dtype(type),
          .shape = entry.shape,
          .bytes = entry.elements * element_bytes,
          .produce = std::move(produce)};
}

// What became of all that is not NF4: "; left out 12 other tensors"; empty when there is none.
std::string rest_text(const io::DecodedModel& output, const io::Checkpoint& checkpoint) {
  const std::string rest = text::format_count(std::ssize(checkpoint.rest()), "other tensor");
  if (!output.is_complete) {
    return checkpoint.rest().empty()
               ? ""
               : fmt::format("; left out {} (--complete writes the whole model)", rest);
  }
  std::string text = fmt::format("; copied {}", rest);
  if (!output.is_folder) return text;
  const io::ModelFiles& files = output.files;
  text += fmt::format(" and {}", text::format_count(std::ssize(files.small), "file"));
  if (files.left_out.empty()) return text;
  return text +
         fmt::format("; left out {}", escaped(fmt::format("{}", fmt::join(files.left_out, ", "))));
}

ExitCode decode_input(const Arguments& arguments, const Context& context) {
  device::check_device_name(arguments.device);
  const std::optional<nf4::OutputType> type = arguments.type;
  const std::vector<peer::PeerArgument> peer_arguments = peer::parse_peers(arguments.peers);
  if (!arguments.complete) io::check_ending(arguments.output);
  const io::Checkpoint checkpoint = plan::open_nf4(arguments.inputs);
  const std::vector<io::TensorEntry> entries = select_entries(checkpoint, arguments.tensor_regex);
  const OutputTarget target =
      tensor_target(arguments.output,
                    files_read({.checkpoints = {&checkpoint}, .peers = peer_arguments}, context),
                    arguments.force);
  io::DecodedModel output = io::plan_decoded_model(checkpoint, target, arguments.complete);
  device::DeviceOptions options;
  options.shares_buffers = !peer_arguments.empty() && !arguments.in_process;
  const auto device = device::open_device(arguments.device, options);
  const peer::Peers peers = peer::load_peers(peer_arguments, *device, operation::dequantize());
  warn_of_absent({&peers});
  const kernels::Variant variant = choose_variant(arguments.variant, *device, peers);
  const std::atomic<bool>& interrupted = watch_for_interruption();
  output.on_piece = [&interrupted] { stop_when_interrupted(interrupted); };
  ProgressLine progress(arguments.quiet ? ProgressMode::kSilent : ProgressMode::kAuto);

  const Decoding decoding = {checkpoint, *device, variant, progress};
  std::vector<io::OutputTensor> outputs;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const nf4::OutputType output_type = type.value_or(entries[i].dtype);
    const auto produce = [&, i, output_type](const io::ByteSink& sink) {
      stop_when_interrupted(interrupted);
      progress.update(static_cast<double>(i) / static_cast<double>(entries.size()),
                      escaped(entries[i].name));
      sink(decode_entry(decoding, entries[i], output_type));
    };
    outputs.push_back(output_tensor(entries[i], output_type, produce));
  }
  io::write_decoded_model(output, checkpoint, std::move(outputs),
                          {.wanted = type ? to_string(*type) : "",
                           .decoded = to_string(type.value_or(entries.front().dtype))},
                          write_options("dequantize", output.target));
  progress.clear();
  write_stderr(fmt::format("nf4bench: wrote {} to {}, decoded by {} on {}{}\n",
                           text::format_count(std::ssize(entries), "tensor"),
                           escaped(arguments.output), variant.name, device->info().id,
                           rest_text(output, checkpoint)));
  return ExitCode::kOk;
}

}  // namespace

Command dequantize_command() {
  const auto a = std::make_shared<Arguments>();
  Command command("dequantize", "Decode NF4 tensors to a safetensors file, verified bit for bit",
                  kExamples);
  add_one_input(command, a->inputs);
  command.add("-o,--output PATH", a->output,
              "OUT.safetensors; with --complete of a Hugging Face folder another folder (required)",
              kRequired | kFiles);
  command.add("--device NAME", a->device, "auto, cuda, cuda:N or cpu [auto]")
      .suggests(device_words());
  command.add("--variant NAME", a->variant, "Decode with this variant [fused; on the CPU simd]")
      .suggests(operation::built_in_variant_names());
  add_peers(command, a->peers, a->in_process);
  command
      .add(
          "--dtype TYPE",
          [a](const std::string& word) {
            a->type.reset();
            if (word != "stored") a->type = parse_output_type(word, output_type_words());
          },
          "float16, bfloat16, float32 or stored: what each names [stored]")
      .suggests(output_type_words());
  command.add("--tensor REGEX", a->tensor_regex,
              "Only tensors whose name has a match of this expression");
  command
      .add("--complete", a->complete,
           "The whole model: all other tensors and files copied, and config.json of a model that "
           "is not quantized")
      .excludes("--tensor");
  add_force_option(command, a->force);
  command.add("-q,--quiet", a->quiet, "No progress");
  command.run = [a](const Context& context) { return decode_input(*a, context); };
  return command;
}

}  // namespace nf4bench::cli
