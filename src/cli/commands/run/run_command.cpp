#include "cli/commands/run/run_command.hpp"

#include "base/files/input_file.hpp"
#include "cli/commands/input_options.hpp"
#include "cli/options/choices.hpp"
#include "cli/options/peer_option.hpp"
#include "cli/outputs.hpp"
#include "device/rotation.hpp"
#include "operation/operation.hpp"
#include "plan/run_options_json.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace nf4bench::cli {
namespace {

using Words = std::vector<std::string>;

constexpr char kExamples[] = R"(Examples:
  nf4bench run data/llama_layer.safetensors      the sample layer
  nf4bench run --preset llama-3.1-8b             the shapes of a whole model
  nf4bench run --preset llama-3.1-8b --operation matmul --tokens 1,16
  nf4bench run --shape 4096x4096 --peer mine=solution.py
  nf4bench run data/llama_layer.safetensors --json - --quiet

Some variants at one size, in half precision, cold and hot:
  nf4bench run --shape 4096x4096 --variant 'lut*' --dtype float16 --cache cold,hot
All GPUs of this machine at once:
  nf4bench run --preset llama-3.1-8b --device all
Exit codes: 0 all verified, 2 usage, 3 bad input, 4 a variant is wrong, 5 no usable device, 6 nothing could be measured, 130 or 143 interrupted (the report so far is kept).)";

void add_tensor_options(CLI::App& command, record::RunOptions& o) {
  const char* group = "What to measure";
  add_repeated(
      command, o.inputs.paths,
      {"input", "",
       "safetensors files, Hugging Face folders, index files, .npz archives\nor folders of .npy"})
      .takes_all()
      .files();
  add_input_options(command, o.inputs, group);
  add_repeated(command, o.shapes,
               {"--shape", "OUTxIN ...", "A synthetic tensor of this shape (repeatable)"})
      .group(group)
      .common();
  add_repeated(command, o.presets,
               {"--preset", "NAME ...",
                "Synthetic tensors of a model's layer shapes (repeatable);\n"
                "\"nf4bench list presets\" shows them"})
      .group(group)
      .common()
      .one_of(preset_words());
  add_single(command, o.tensor_regex,
             {"--tensor", "REGEX", "Only tensors whose name has a match of this expression"})
      .group(group);
  add_flag(command, "--all-tensors", o.all_tensors,
           "Time every tensor, not one of each geometry (shape,\n"
           "blocksize, nested or plain, type)")
      .group(group);
}

void add_synthetic_options(CLI::App& command, record::RunOptions& o) {
  const char* group = "Synthetic tensors (--shape, --preset)";
  add_single(command, o.blocksize,
             {"--blocksize", "N",
              fmt::format("Elements that share a scale: 32 to 4096 [{}]", o.blocksize)})
      .group(group);
  const AbsmaxFlags flags = add_absmax_flags(command, o.absmax_kind);
  flags.plain.group(group);
  flags.nested.group(group);
  add_single(command, o.seed,
             {"--seed", "N", fmt::format("Seed of data and of the order of turns [{}]", o.seed)})
      .group(group);
}

constexpr char kHowItRuns[] = "How it runs";

void add_variant_options(CLI::App& command, record::RunOptions& o) {
  const char* group = kHowItRuns;
  add_single(command, o.device,
             {"--device", "NAME",
              "auto, cuda, cuda:N or cpu [auto: the first GPU, else the CPU];\n"
              "all, cuda:all or cuda:0,2: several GPUs, a process for each"})
      .group(group)
      .common()
      .suggests(and_word(device_words(), "all"));
  add_list(command, o.variants,
           {"--variant", "NAME,...",
            "Variants to measure; * and ? are wildcards [all];\n"
            "\"nf4bench list variants\" shows them"})
      .group(group)
      .common()
      .suggests(operation::built_in_variant_names());
  add_peer_option(command, o.peers).group(group).common();
  add_single(command, o.baseline,
             {"--baseline", "NAME",
              "The variant that speedups refer to, always measured\n"
              "[multi_kernel; on the CPU multi_pass; of matmul\n"
              "chain_cublas and reference]; \"none\" for none"})
      .group(group)
      .common()
      .suggests(and_word(operation::built_in_variant_names(), "none"));
}

void add_operation_options(CLI::App& command, record::RunOptions& o) {
  const char* group = "What is computed";
  add_list(command, o.operations,
           {"--operation", "NAME,...",
            "dequantize: decode the weight; matmul: multiply it with\n"
            "activations, y = x W^T [dequantize]"})
      .group(group)
      .common()
      .one_of(operation_words());
  add_list(command, [&o](const Words& words) { o.tokens = parse_tokens(words); },
           {"--tokens", "M,...",
            fmt::format("Rows of x that matmul multiplies with, 1 to {} [{}]", kMostTokens,
                        fmt::join(o.tokens, ","))})
      .group(group)
      .common()
      .may_be_number();
  add_single(command,
             [&o](const std::string& word) {
               o.activations = parse_activations(word);
               o.activations_file = o.activations == record::Activations::kFile ? word : "";
             },
             {"--activations", "WORD|FILE",
              "x of matmul. normal: N(0, 1); outlier: the same with one\n"
              "channel in a hundred scaled by 100; or an array\n"
              "[M or more, K] in a .npy file [normal]"})
      .group(group)
      .suggests(activations_words())
      .files();
  add_flag(command, "--cold-activations", o.cold_activations,
           "Cold samples find x in no cache, too; else it is hot,\n"
           "as the layer before leaves it")
      .group(group);
  add_flag(command, "--crossover", o.crossover,
           "Measure matmul with more numbers of tokens, between those of\n"
           "--tokens, until it is known where the fastest variant changes")
      .group(group);
}

void add_mode_options(CLI::App& command, record::RunOptions& o) {
  const char* group = kHowItRuns;
  add_list(
      command, [&o](const Words& words) { o.output_types = parse_output_types(words); },
      {"--dtype", "TYPE,...",
       "Output types: float16, bfloat16, float32, or stored:\nwhat each tensor names [stored]"})
      .group(group)
      .common()
      .one_of(and_word(output_type_words(), "stored"));
  add_list(command, [&o](const Words& words) { o.caches = parse_caches(words); },
           {"--cache", "MODE,...", "cold, hot or both [cold]"})
      .group(group)
      .common()
      .one_of(cache_words());
  add_list(command, [&o](const Words& words) { o.launches = parse_launches(words); },
           {"--launch", "MODE,...",
            "graph, stream or spaced, of which the CPU has stream alone\n[graph on a GPU]"})
      .group(group)
      .one_of(launch_words());
  add_single(command, o.caches_rotated,
             {"--rotate", "N",
              fmt::format("Cold samples rotate through N last-level caches of buffers\n"
                          "[{} on a GPU, {} on the CPU]",
                          device::default_rotation(record::DeviceKind::kCuda),
                          device::default_rotation(record::DeviceKind::kCpu))})
      .group(group)
      .between(1, 1000);
  add_single(command, o.fused_config,
             {"--fused-config", "NAME",
              "Configuration forced on the variant \"fused\";\nNF4BENCH_FUSED in the environment "
              "does the same"})
      .group(group)
      .environment("NF4BENCH_FUSED");
  add_single(command, o.threads, {"--threads", "N", "Threads of the CPU device [all]"})
      .group(group)
      .between(0, 4096);
}

void add_several_options(CLI::App& command, record::RunOptions& o) {
  const char* group = "Several GPUs (--device all)";
  const Option in_turn =
      add_flag(command, "--in-turn", o.in_turn, "Measure one after the other, not all at once");
  in_turn.group(group);
  add_flag(command, "--together-and-alone", o.together_and_alone,
           "Measure them at once, then each alone, and show the ratio")
      .group(group)
      .excludes(in_turn);
  add_single(command, o.device_timeout_s,
             {"--device-timeout", "SECONDS",
              fmt::format("End a GPU's process that shows no progress for so long;\n0: never [{}]",
                          o.device_timeout_s)})
      .group(group)
      .between(0.0, 86400.0);
  add_single(command, o.together,
             {"--together", "N",
              fmt::format("Devices that are measured at the same time, this one\n"
                          "included, for the report of a run that others start\n"
                          "beside [{}]",
                          o.together)})
      .group(group)
      .between(1, 100000);
}

void add_sampling_options(CLI::App& command, record::RunOptions& o) {
  const char* group = "How long and how carefully";
  add_single(
      command, o.min_samples,
      {"--min-samples", "N",
       fmt::format("Samples of a measurement at least, time permitting [{}]", o.min_samples)})
      .group(group)
      .between(1, 1000000);
  add_single(
      command, o.max_time_s,
      {"--max-time", "SECONDS", fmt::format("Time for a measurement at most [{}]", o.max_time_s)})
      .group(group)
      .common()
      .between(0.0, 86400.0);
  add_single(command, o.precision,
             {"--precision", "FRACTION",
              fmt::format("Stop when the median is known to this fraction [{}]", o.precision)})
      .group(group)
      .between(0.0, 1.0);
  add_single(command, o.call_timeout_s,
             {"--call-timeout", "SECONDS",
              fmt::format("Give up on a call that takes longer, with what there is in\n"
                          "the report; 0: never [{}]",
                          o.call_timeout_s)})
      .group(group)
      .between(0.0, 86400.0);
  add_flag(
      command, "--no-ceilings", [&o] { o.measure_stream_shapes = false; },
      "Do not measure what the memory can do at best: starts\n"
      "sooner, and a profiler sees the variants alone")
      .group(group);
  add_flag(command, "--check-company", o.check_company,
           "Measure each variant again, alone in a process of its own,\n"
           "and say whose time depends on what else was measured")
      .group(group);
  add_flag(command, "--energy", o.measure_energy,
           "Measure the joules of a call, too, from the energy counter of\n"
           "the GPU: more than a second for each variant in each cell")
      .group(group);
  add_single(command, [&o](const std::string& word) { o.verify = parse_verify(word); },
             {"--verify", "SCOPE",
              "all: every element of every selected tensor; sampled:\n"
              "the timed tensors, the first 16 Mi elements or\n"
              "256 Mi multiplications [all]"})
      .group(group)
      .one_of(verify_words());
}

void add_output_options(CLI::App& command, record::RunOptions& o) {
  const char* group = "Output";
  add_single(command, o.json,
             {"--json", "FILE",
              "Write the report there; - is stdout (the table moves to\n"
              "stderr); in a folder, a task of a job writes shard-I.json,\n"
              "and each of several GPUs a file with its UUID as name"})
      .group(group)
      .common()
      .files();
  add_single(command, o.shard,
             {"--shard", "I/N",
              "This is task I of N, counted from 0, of which each has a GPU;\n"
              "else mpirun, srun, a job array or a Kubernetes Job says it"})
      .group(group);
  add_flag(command, "--split", o.split, "Measure every N-th geometry only: the tasks share a model")
      .group(group);
  add_single(command, [&o](const std::string& word) { o.keep_samples = parse_keep_samples(word); },
             {"--samples", "KEEP",
              "all: the report holds every sample; summary: it holds\n"
              "what compare and history need of them, and is small [all]"})
      .group(group)
      .one_of(samples_words());
  add_force_option(command, o.force).group(group);
  add_flag(command, "--dry-run", o.dry_run,
           "Show what would be measured, the memory and the time\n"
           "that it takes; measure nothing, write no report")
      .group(group)
      .common();
  add_flag(command, "-q,--quiet", o.quiet, "No table and no progress").group(group).common();
}

}  // namespace

CLI::App* add_run_command(CLI::App& app, RunArguments& arguments) {
  CLI::App* command = add_command(
      app, "run", "Verify and time every variant, write a report of speedups", kExamples);
  record::RunOptions& options = arguments.options;
  add_tensor_options(*command, options);
  add_synthetic_options(*command, options);
  add_operation_options(*command, options);
  add_variant_options(*command, options);
  add_mode_options(*command, options);
  add_several_options(*command, options);
  add_sampling_options(*command, options);
  add_output_options(*command, options);
  add_help_all(*command);
  add_single(*command, arguments.options_file, {"--options", "FILE", "All options, as JSON"})
      .group("")
      .command_line_only();
  return command;
}

record::RunOptions options_of(const RunArguments& arguments) {
  constexpr std::uint64_t kMostBytes = 64 << 20;
  if (const std::string& file = arguments.options_file; !file.empty()) {
    return plan::run_options_from_json(read_input(file, kMostBytes), file);
  }
  return arguments.options;
}

}  // namespace nf4bench::cli
