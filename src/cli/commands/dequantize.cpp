#include "operation/dequantize.hpp"

#include "base/signals.hpp"
#include "base/terminal.hpp"
#include "base/text.hpp"
#include "bench/decoding.hpp"
#include "cli/commands/commands.hpp"
#include "cli/files.hpp"
#include "cli/shared_options.hpp"
#include "device/devices.hpp"
#include "io/writers/decoded_model.hpp"
#include "io/writers/writers.hpp"
#include "operation/operation.hpp"
#include "plan/sources.hpp"
#include "text/progress.hpp"
#include "text/units.hpp"

#include <fmt/format.h>

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

void stop_when_interrupted(const std::atomic<bool>& interrupted) {
  if (interrupted.load()) {
    throw Error(ErrorKind::kOutput, "interrupted; nothing was written");
  }
}

ExitCode decode_input(const Arguments& arguments, const Context& context) {
  device::check_device_name(arguments.device);
  const std::optional<nf4::OutputType> type = arguments.type;
  const std::vector<peer::PeerArgument> peer_arguments = peer::parse_peers(arguments.peers);
  if (!arguments.complete) io::check_ending(arguments.output);
  const io::Checkpoint checkpoint = plan::open_nf4(arguments.inputs);
  const std::vector<io::TensorEntry> entries =
      bench::select_entries(checkpoint, arguments.tensor_regex);
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
  const kernels::Variant variant = bench::choose_decoder(arguments.variant, *device, peers);
  const std::atomic<bool>& interrupted = watch_for_interruption();
  output.on_piece = [&interrupted] { stop_when_interrupted(interrupted); };
  text::ProgressLine progress(arguments.quiet ? text::ProgressMode::kSilent
                                              : text::ProgressMode::kAuto);

  const bench::Decoding decoding = {checkpoint, *device, variant,
                                    [&progress](const std::string& what) {
                                      progress.clear();
                                      warn(what);
                                    }};
  std::vector<io::OutputTensor> outputs;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    io::OutputTensor tensor =
        bench::decoded_tensor(decoding, entries[i], type.value_or(entries[i].dtype));
    tensor.produce = [&, i, decode = tensor.produce](const io::ByteSink& sink) {
      stop_when_interrupted(interrupted);
      progress.update(static_cast<double>(i) / static_cast<double>(entries.size()),
                      escaped(entries[i].name));
      decode(sink);
    };
    outputs.push_back(std::move(tensor));
  }
  io::write_decoded_model(output, checkpoint, std::move(outputs),
                          {.wanted = type ? to_string(*type) : "",
                           .decoded = to_string(type.value_or(entries.front().dtype))},
                          write_options("dequantize", output.target));
  progress.clear();
  write_stderr(fmt::format("nf4bench: wrote {} to {}, decoded by {} on {}{}\n",
                           text::format_count(std::ssize(entries), "tensor"),
                           escaped(arguments.output), variant.name, device->info().id,
                           bench::rest_text(output, checkpoint)));
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
