#include "cli/commands/dequantize_command.hpp"

#include "base/signals.hpp"
#include "base/terminal.hpp"
#include "base/text.hpp"
#include "cli/commands/dequantize_output.hpp"
#include "cli/commands/input_options.hpp"
#include "cli/options/choices.hpp"
#include "cli/options/peer_option.hpp"
#include "cli/outputs.hpp"
#include "cli/progress_line.hpp"
#include "device/devices.hpp"
#include "io/writers/writers.hpp"
#include "nf4/finiteness.hpp"
#include "nf4/reference.hpp"
#include "operation/dequantize.hpp"
#include "operation/exact_bits.hpp"
#include "operation/operation.hpp"
#include "operation/weight.hpp"
#include "plan/name_filter.hpp"
#include "plan/plan.hpp"
#include "plan/sources.hpp"
#include "text/units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
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
    throw Error(ErrorKind::kUsage, fmt::format("--variant: \"{}\" matches {} variants; wanted one",
                                               escaped(word), selected.size()));
  }
  const kernels::Catalog& catalog = operation::dequantize().catalog(device.info().kind);
  const std::string flagship = catalog.flagship;
  const auto& variants = catalog.variants;
  const auto found = std::find_if(variants.begin(), variants.end(),
                                  [&](const kernels::Variant& v) { return flagship == v.name; });
  return found == variants.end() ? variants.front() : *found;
}

// Decodes `tensor` and returns the bytes, which are the reference's bit for bit.
std::vector<std::byte> decode(device::Device& device, const kernels::Variant& variant,
                              const nf4::Nf4Tensor& tensor, nf4::OutputType type) {
  const auto workload =
      device.upload(operation::dequantize_work(tensor, type), device::UploadPurpose::kVerify);
  const std::string reason = workload->unsupported(variant);
  if (!reason.empty()) {
    throw Error(ErrorKind::kUsage,
                fmt::format("{} cannot decode {} on {}: {}; choose another --variant", variant.name,
                            escaped(tensor.name), device.info().id, reason));
  }
  std::vector<std::byte> output = workload->output_of(variant);
  const record::Verification comparison =
      operation::compare_outputs(type, nf4::reference_dequantize(tensor, type), output);
  if (!comparison.is_exact()) {
    throw Error(
        ErrorKind::kVerification,
        fmt::format("{} decodes {} wrongly on {}: {} of {} elements differ from the "
                    "reference, the first at index {}; nothing was written",
                    variant.name, escaped(tensor.name), device.info().id, comparison.mismatches,
                    comparison.compared, comparison.first_mismatch.value_or(0)));
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
  write_stderr(fmt::format("nf4bench: warning: {}: {}\n", escaped(tensor.name), found));
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

}  // namespace

CLI::App* add_dequantize_command(CLI::App& app, DequantizeArguments& a) {
  CLI::App* command =
      add_command(app, "dequantize",
                  "Decode NF4 tensors to a safetensors file, verified bit for bit", kExamples);
  add_one_input(*command, a.input, a.inputs);
  add_single(
      *command, a.output,
      {"-o,--output", "PATH",
       "OUT.safetensors; with --complete of a Hugging Face folder\nanother folder (required)"})
      .required()
      .files();
  add_single(*command, a.device, {"--device", "NAME", "auto, cuda, cuda:N or cpu [auto]"})
      .suggests(device_words());
  add_single(*command, a.variant,
             {"--variant", "NAME", "Decode with this variant [fused; on the CPU simd]"})
      .suggests(operation::built_in_variant_names());
  add_peer_option(*command, a.peers);
  add_single(*command, a.dtype,
             {"--dtype", "TYPE", "float16, bfloat16, float32 or stored: what each names [stored]"})
      .one_of(and_word(output_type_words(), "stored"));
  const Option tensor =
      add_single(*command, a.tensor_regex,
                 {"--tensor", "REGEX", "Only tensors whose name has a match of this expression"});
  add_flag(*command, "--complete", a.complete,
           "The whole model: all other tensors and files copied, and\nconfig.json of a model that "
           "is not quantized")
      .excludes(tensor);
  add_force_option(*command, a.force);
  add_flag(*command, "-q,--quiet", a.quiet, "No progress");
  return command;
}

ExitCode execute(const DequantizeArguments& arguments, const Context& context) {
  std::optional<nf4::OutputType> type;
  if (arguments.dtype != "stored") type = parse_output_types({arguments.dtype}).front();
  device::check_device_name(arguments.device);
  const std::vector<peer::PeerArgument> peer_arguments = peer::parse_peers(arguments.peers);
  if (!arguments.complete) check_ending(arguments.output);
  const io::Checkpoint checkpoint = plan::open_nf4(inputs_of(arguments.input, arguments.inputs));
  const std::vector<io::TensorEntry> entries = select_entries(checkpoint, arguments.tensor_regex);
  DequantizeOutput output =
      choose_output(arguments, checkpoint,
                    files_read({.checkpoints = {&checkpoint}, .peers = peer_arguments}, context));
  const auto device = device::open_device(arguments.device, {});
  const peer::Peers peers = peer::load_peers(peer_arguments, *device, operation::dequantize());
  warn_of_absent({&peers});
  const kernels::Variant variant = choose_variant(arguments.variant, *device, peers);
  const std::atomic<bool>& interrupted = watch_for_interruption();
  output.on_piece = [&interrupted] { stop_when_interrupted(interrupted); };
  ProgressLine progress(arguments.quiet ? ProgressLine::Mode::kSilent : ProgressLine::Mode::kAuto);

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
  write(output, checkpoint, std::move(outputs),
        {.wanted = type ? to_string(*type) : "",
         .decoded = to_string(type.value_or(entries.front().dtype))});
  progress.clear();
  write_stderr(fmt::format("nf4bench: wrote {} to {}, decoded by {} on {}{}\n",
                           text::format_count(static_cast<long long>(entries.size()), "tensor"),
                           escaped(arguments.output), variant.name, device->info().id,
                           rest_text(output, checkpoint)));
  return ExitCode::kOk;
}

}  // namespace nf4bench::cli
