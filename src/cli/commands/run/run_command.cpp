#include "cli/commands/run/run_command.hpp"

#include "cli/commands/input_options.hpp"
#include "cli/options/choices.hpp"
#include "cli/options/peer_option.hpp"
#include "cli/outputs.hpp"
#include "device/rotation.hpp"
#include "operation/operation.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace nf4bench::cli {
namespace {

constexpr char kExamples[] = R"(Examples:
  Measure every variant on the sample layer, on the best device there is:
    nf4bench run data/llama_layer.safetensors
  The shapes of a whole model, without its file:
    nf4bench run --preset llama-3.1-8b
  Some variants at one size, in half precision, cold and hot:
    nf4bench run --shape 4096x4096 --variant 'lut*' --dtype float16 --cache cold,hot
  The product with 1, 4 and 16 tokens, as in decoding:
    nf4bench run --preset llama-3.1-8b --operation matmul --tokens 1,4,16
  All GPUs of this machine at once:
    nf4bench run --preset llama-3.1-8b --device all
  Only the report, for a script:
    nf4bench run data/llama_layer.safetensors --json - --quiet
Exit codes: 0 all verified, 2 usage, 3 bad input, 4 a variant is wrong, 5 no usable device,
6 nothing could be measured, 130 or 143 interrupted (the report so far is kept).)";

void add_tensor_options(CLI::App& command, RunArguments& a) {
  const char* group = "What to measure";
  add_repeated(
      command, a.inputs.paths,
      {"input", "",
       "safetensors files, Hugging Face folders, index files, .npz archives\nor folders of .npy"})
      .takes_all()
      .files();
  add_input_options(command, a.inputs, group);
  add_repeated(command, a.shapes,
               {"--shape", "OUTxIN ...", "A synthetic tensor of this shape (repeatable)"})
      .group(group);
  add_repeated(command, a.presets,
               {"--preset", "NAME ...",
                "Synthetic tensors of a model's layer shapes (repeatable);\n"
                "\"nf4bench list presets\" shows them"})
      .group(group)
      .one_of(preset_words());
  add_single(command, a.tensor_regex,
             {"--tensor", "REGEX", "Only tensors whose name has a match of this expression"})
      .group(group);
  add_flag(command, "--all-tensors", a.all_tensors,
           "Time every tensor, not one of each geometry (shape,\n"
           "blocksize, nested or plain, type)")
      .group(group);
}

void add_synthetic_options(CLI::App& command, RunArguments& a) {
  const char* group = "Synthetic tensors (--shape, --preset)";
  add_single(command, a.synthetic.blocksize,
             {"--blocksize", "N",
              fmt::format("Elements that share a scale: 32 to 4096 [{}]", a.synthetic.blocksize)})
      .group(group);
  const AbsmaxFlags flags = add_absmax_flags(command, a.plain, a.nested);
  flags.plain.group(group);
  flags.nested.group(group);
  add_single(
      command, a.synthetic.seed,
      {"--seed", "N", fmt::format("Seed of data and of the order of turns [{}]", a.synthetic.seed)})
      .group(group);
}

constexpr char kHowItRuns[] = "How it runs";

void add_variant_options(CLI::App& command, RunArguments& a) {
  const char* group = kHowItRuns;
  add_single(command, a.device,
             {"--device", "NAME",
              "auto, cuda, cuda:N or cpu [auto: the first GPU, else the CPU];\n"
              "all, cuda:all or cuda:0,2: several GPUs, a process for each"})
      .group(group)
      .suggests(and_word(device_words(), "all"));
  add_list(command, a.variants,
           {"--variant", "NAME,...",
            "Variants to measure; * and ? are wildcards [all];\n"
            "\"nf4bench list variants\" shows them"})
      .group(group)
      .suggests(operation::built_in_variant_names());
  add_peer_option(command, a.peers).group(group);
  add_single(command, a.baseline,
             {"--baseline", "NAME",
              "The variant that speedups refer to, always measured\n"
              "[multi_kernel; on the CPU multi_pass; of matmul\n"
              "chain_cublas and reference]; \"none\" for none"})
      .group(group)
      .suggests(and_word(operation::built_in_variant_names(), "none"));
}

void add_operation_options(CLI::App& command, RunArguments& a) {
  const char* group = "What is computed";
  add_list(command, a.operations,
           {"--operation", "NAME,...",
            "dequantize: decode the weight; matmul: multiply it with\n"
            "activations, y = x W^T [dequantize]"})
      .group(group)
      .one_of(operation_words());
  add_list(command, a.tokens,
           {"--tokens", "M,...",
            fmt::format("Rows of x that matmul multiplies with, 1 to {} [{}]", kMostTokens,
                        fmt::join(a.options.tokens, ","))})
      .group(group)
      .may_be_number();
  add_single(command, a.activations,
             {"--activations", "WORD|FILE",
              "x of matmul. normal: N(0, 1); outlier: the same with one\n"
              "channel in a hundred scaled by 100; or an array\n"
              "[M or more, K] in a .npy file [normal]"})
      .group(group)
      .suggests(activations_words())
      .files();
  add_flag(command, "--cold-activations", a.options.cold_activations,
           "Cold samples find x in no cache, too; else it is hot,\n"
           "as the layer before leaves it")
      .group(group);
  add_flag(command, "--crossover", a.crossover,
           "Measure matmul with more numbers of tokens, between those of\n"
           "--tokens, until it is known where the fastest variant changes")
      .group(group);
}

void add_mode_options(CLI::App& command, RunArguments& a) {
  const char* group = kHowItRuns;
  add_list(
      command, a.dtypes,
      {"--dtype", "TYPE,...",
       "Output types: float16, bfloat16, float32, or stored:\nwhat each tensor names [stored]"})
      .group(group)
      .one_of(and_word(output_type_words(), "stored"));
  add_list(command, a.caches, {"--cache", "MODE,...", "cold, hot or both [cold]"})
      .group(group)
      .one_of(cache_words());
  add_list(command, a.launches,
           {"--launch", "MODE,...",
            "graph, stream or spaced, of which the CPU has stream alone\n[graph on a GPU]"})
      .group(group)
      .one_of(launch_words());
  add_single(command, a.options.caches_rotated,
             {"--rotate", "N",
              fmt::format("Cold samples rotate through N last-level caches of buffers\n"
                          "[{} on a GPU, {} on the CPU]",
                          device::default_rotation(record::DeviceKind::kCuda),
                          device::default_rotation(record::DeviceKind::kCpu))})
      .group(group)
      .between(1, 1000);
  add_single(command, a.fused_config,
             {"--fused-config", "NAME",
              "Configuration forced on the variant \"fused\";\nNF4BENCH_FUSED in the environment "
              "does the same"})
      .group(group)
      .environment("NF4BENCH_FUSED");
  add_single(command, a.threads, {"--threads", "N", "Threads of the CPU device [all]"})
      .group(group)
      .between(0, 4096);
}

void add_several_options(CLI::App& command, RunArguments& a) {
  const char* group = "Several GPUs (--device all)";
  const Option in_turn =
      add_flag(command, "--in-turn", a.in_turn, "Measure one after the other, not all at once");
  in_turn.group(group);
  add_flag(command, "--together-and-alone", a.together_and_alone,
           "Measure them at once, then each alone, and show the ratio")
      .group(group)
      .excludes(in_turn);
  add_single(command, a.device_timeout_s,
             {"--device-timeout", "SECONDS",
              fmt::format("End a GPU's process that shows no progress for so long;\n0: never [{}]",
                          a.device_timeout_s)})
      .group(group)
      .between(0.0, 86400.0);
  add_single(command, a.together,
             {"--together", "N",
              fmt::format("Devices that are measured at the same time, this one\n"
                          "included, for the report of a run that others start\n"
                          "beside [{}]",
                          a.together)})
      .group(group)
      .between(1, 100000);
}

void add_sampling_options(CLI::App& command, RunArguments& a) {
  const char* group = "How long and how carefully";
  add_single(command, a.options.min_samples,
             {"--min-samples", "N",
              fmt::format("Samples of a measurement at least, time permitting [{}]",
                          a.options.min_samples)})
      .group(group)
      .between(1, 1000000);
  add_single(command, a.options.max_time_s,
             {"--max-time", "SECONDS",
              fmt::format("Time for a measurement at most [{}]", a.options.max_time_s)})
      .group(group)
      .between(0.0, 86400.0);
  add_single(
      command, a.options.precision,
      {"--precision", "FRACTION",
       fmt::format("Stop when the median is known to this fraction [{}]", a.options.precision)})
      .group(group)
      .between(0.0, 1.0);
  add_single(command, a.options.call_timeout_s,
             {"--call-timeout", "SECONDS",
              fmt::format("Give up on a call that takes longer, with what there is in\n"
                          "the report; 0: never [{}]",
                          a.options.call_timeout_s)})
      .group(group)
      .between(0.0, 86400.0);
  add_flag(command, "--no-ceilings", a.no_ceilings,
           "Do not measure what the memory can do at best: starts\n"
           "sooner, and a profiler sees the variants alone")
      .group(group);
  add_flag(command, "--check-company", a.check_company,
           "Measure each variant again, alone in a process of its own,\n"
           "and say whose time depends on what else was measured")
      .group(group);
  add_flag(command, "--energy", a.options.measure_energy,
           "Measure the joules of a call, too, from the energy counter of\n"
           "the GPU: more than a second for each variant in each cell")
      .group(group);
  add_single(command, a.verify,
             {"--verify", "SCOPE",
              "all: every element of every selected tensor; sampled:\n"
              "the timed tensors, the first 16 Mi elements or\n"
              "256 Mi multiplications [all]"})
      .group(group)
      .one_of(verify_words());
}

void add_output_options(CLI::App& command, RunArguments& a) {
  const char* group = "Output";
  add_single(command, a.json,
             {"--json", "FILE",
              "Write the report there; - is stdout (the table moves to\n"
              "stderr); in a folder, a task of a job writes shard-I.json,\n"
              "and each of several GPUs a file with its UUID as name"})
      .group(group)
      .files();
  add_single(command, a.shard,
             {"--shard", "I/N",
              "This is task I of N, counted from 0, of which each has a GPU;\n"
              "else mpirun, srun, a job array or a Kubernetes Job says it"})
      .group(group);
  add_flag(command, "--split", a.split, "Measure every N-th geometry only: the tasks share a model")
      .group(group);
  add_single(command, a.samples,
             {"--samples", "KEEP",
              "all: the report holds every sample; summary: it holds\n"
              "what compare and history need of them, and is small [all]"})
      .group(group)
      .one_of(samples_words());
  add_force_option(command, a.force).group(group);
  add_flag(command, "--dry-run", a.dry_run,
           "Show what would be measured, the memory and the time\n"
           "that it takes; measure nothing, write no report")
      .group(group);
  add_flag(command, "-q,--quiet", a.quiet, "No table and no progress").group(group);
}

}  // namespace

CLI::App* add_run_command(CLI::App& app, RunArguments& arguments) {
  CLI::App* command = add_command(
      app, "run", "Verify and time every variant, write a report of speedups", kExamples);
  add_tensor_options(*command, arguments);
  add_synthetic_options(*command, arguments);
  add_operation_options(*command, arguments);
  add_variant_options(*command, arguments);
  add_mode_options(*command, arguments);
  add_several_options(*command, arguments);
  add_sampling_options(*command, arguments);
  add_output_options(*command, arguments);
  return command;
}

}  // namespace nf4bench::cli
