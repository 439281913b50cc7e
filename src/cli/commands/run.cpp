#include "base/input_file.hpp"
#include "bench/device_runs.hpp"
#include "cli/commands/commands.hpp"
#include "cli/files.hpp"
#include "cli/shared_options.hpp"
#include "device/devices.hpp"
#include "operation/operation.hpp"
#include "plan/run_options_json.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>

namespace nf4bench::cli {
namespace {

constexpr std::int64_t kMostExperts = 1024;  // of a token

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
Exit codes: 0 all verified, 2 usage, 3 bad input or a peer that cannot be used, 4 a variant is wrong, 5 no usable device, 6 nothing could be measured, 130 or 143 interrupted (the report so far is kept).)";

// x of a product: how it is drawn, or the file that it comes from.
void take_activations(record::RunOptions& o, const std::string& word) {
  o.activations = record::Activations::kFile;
  for (const record::Activations kind :
       {record::Activations::kNormal, record::Activations::kOutlier}) {
    if (word == to_string(kind)) o.activations = kind;
  }
  o.activations_file = o.activations == record::Activations::kFile ? word : "";
}

void add_tensor_options(Command& command, record::RunOptions& o) {
  command.add("input", o.inputs.paths,
              "safetensors files, Hugging Face folders, index files, .npz archives or folders of "
              ".npy",
              kTakesAll | kFiles);
  command.group = "What to measure";
  add_input_options(command, o.inputs);
  command.add("--shape OUTxIN", o.shapes, "A synthetic tensor of this shape (repeatable)", kCommon);
  command
      .add("--preset NAME", o.presets,
           "Synthetic tensors of a model's layer shapes (repeatable); \"nf4bench list presets\" "
           "shows them",
           kCommon)
      .one_of(preset_words());
  command.add("--tensor REGEX", o.tensor_regex,
              "Only tensors whose name has a match of this expression");
  command.add(
      "--all-tensors", o.all_tensors,
      "Time every tensor, not one of each geometry (shape, blocksize, nested or plain, type)");
  command.group = "Synthetic tensors (--shape, --preset)";
  add_scale_options(command, o.blocksize, o.absmax_kind);
  command.add("--seed N", o.seed, "Seed of data and of the order of turns [=]");
}

void add_expert_options(Command& command, record::RunOptions& o) {
  command.add(
      "--part PART", choice(o.parts),
      "Of layers of experts, the product that gives gates and ups (gate_up), the one that leads "
      "back (down), or all of a layer (layer) [gate_up and down]");
  Choices<std::optional<record::Activation>> activations;
  for (const record::Activation each : kWords<record::Activation>) {
    activations.push_back({to_string(each), each});
  }
  command.add(
      "--activation WORD", choice(o.activation, activations),
      "What --part layer has between its products: silu or gelu_tanh of gates and then ups, "
      "gptoss of both in turns, or relu2, which has no gates [as the preset's model does, "
      "else silu]");
  command.add(
      "--top-k K",
      [&o](const std::string& word) { o.top_k = parse_count("--top-k", word, kMostExperts); },
      "Experts that each token chooses [as the preset's model or a config.json says]",
      kMayBeNumber);
  command
      .add(
          "--routing WORD|FILE",
          [&o](const std::string& word) {
            operation::parse_routing(word);
            o.routing = word;
          },
          "Which experts tokens choose. uniform: any; zipf:S, normal:S: some more than others; "
          "one: all the same; balanced: in turn; with :dead=F that share of them by nobody; or ids "
          "[M or more, K] in a .npy file [uniform]",
          kFiles)
      .suggests({"uniform", "zipf:0.9", "normal:1.05:dead=0.2", "one", "balanced"});
  command.add("--transposed", o.transposed,
              "The matrices of stacks of experts lie as [K,N] [as the preset's model or a "
              "config.json says]");
}

void add_operation_options(Command& command, record::RunOptions& o) {
  command.group = "What is computed";
  command
      .add("--operation NAME", o.operations,
           "dequantize: decode a weight; matmul: multiply x by it; experts: x by some of a stack; "
           "backward: the gradient of matmul with respect to x [dequantize]",
           kCommon | kList)
      .one_of(operation_words());
  command.add(
      "--tokens M", [&o](const Words& words) { o.tokens = parse_tokens(words); },
      fmt::format("Rows of x, or of dY, of products, 1 to {} [{}]", kMostTokens,
                  fmt::join(o.tokens, ",")),
      kCommon | kMayBeNumber);
  command
      .add(
          "--activations WORD|FILE", [&o](const std::string& word) { take_activations(o, word); },
          "x of products, dY of backward. normal: N(0, 1); outlier: the same with one channel in a "
          "hundred scaled by 100; or an array [M or more, K], of dY [M or more, N], in a .npy file "
          "[normal]",
          kFiles)
      .suggests({"normal", "outlier"});
  command.add(
      "--cold-activations", o.cold_activations,
      "Cold samples find x in no cache, too; else it is hot, as the layer before leaves it");
  add_expert_options(command, o);
  command.add(
      "--crossover", o.crossover,
      "Measure products with more numbers of tokens, between those of --tokens, until it is "
      "known where the fastest variant changes");
}

void add_variant_options(Command& command, record::RunOptions& o) {
  Words baselines = operation::built_in_variant_names();
  baselines.emplace_back("none");
  command.group = "How it runs";
  command
      .add("--device NAME", o.device,
           "auto, cuda, cuda:N or cpu [auto: the first GPU, else the CPU]; all, cuda:all or "
           "cuda:0,2: several GPUs, a process for each",
           kCommon)
      .suggests(several_devices_words());
  command
      .add("--variant NAME", o.variants,
           "Names of variants, with * and ? [all but \"reference\" of products]; \"nf4bench list "
           "variants\" shows them",
           kCommon | kList)
      .suggests(operation::built_in_variant_names());
  add_peers(command, o.peers, o.in_process).traits |= kCommon;
  command.add("--peer-optional", o.peers_are_optional,
              "Go without peers that cannot be used, with a warning; else the exit code is 3 when "
              "all others are measured");
  command
      .add(
          "--baseline NAME", o.baseline,
          "The variant that speedups refer to, always measured [multi_kernel; on the CPU "
          "multi_pass; of matmul and backward chain_cublas and decode_blas; of experts grouped_any "
          "and decode_all]; \"none\" for none",
          kCommon)
      .suggests(baselines);
}

void add_mode_options(Command& command, record::RunOptions& o) {
  command
      .add(
          "--dtype TYPE", [&o](const Words& words) { o.output_types = parse_output_types(words); },
          "Output types: float16, bfloat16, float32, or stored: what each tensor names [stored]",
          kCommon)
      .suggests(output_type_words());
  command.add("--cache MODE", choice(o.caches), "cold, hot or both [cold]", kCommon);
  command.add("--launch MODE", choice(o.launches),
              "graph, stream or spaced, of which the CPU has stream alone [graph on a GPU]");
  command
      .add(
          "--rotate N", o.caches_rotated,
          fmt::format("Cold samples rotate through N last-level caches of buffers [{} on a GPU, {} "
                      "on the CPU]",
                      device::default_rotation(record::DeviceKind::kCuda),
                      device::default_rotation(record::DeviceKind::kCpu)))
      .between(1, 1000);
  command
      .add("--fused-config NAME", o.fused_config,
           "Configuration forced on the variant \"fused\"; NF4BENCH_FUSED in the environment does "
           "the same")
      .variable("NF4BENCH_FUSED");
  command.add("--threads N", o.threads, "Threads of the CPU device [all]").between(0, 4096);
}

void add_several_options(Command& command, record::RunOptions& o) {
  command.group = "Several GPUs (--device all)";
  command.add("--in-turn", o.in_turn, "Measure one after the other, not all at once");
  command
      .add("--together-and-alone", o.together_and_alone,
           "Measure them at once, then each alone, and show the ratio")
      .excludes("--in-turn");
  command
      .add("--device-timeout SECONDS", o.device_timeout_s,
           "End a GPU's process that shows no progress for so long; 0: never [=]")
      .between(0, kMostSeconds);
  command
      .add("--together N", o.together,
           "Devices that are measured at the same time, this one included, for the report of a run "
           "that others start beside [=]")
      .between(1, 100000);
}

void add_sampling_options(Command& command, record::RunOptions& o) {
  command.group = "How long and how carefully";
  command
      .add("--min-samples N", o.min_samples,
           "Samples of a measurement at least, time permitting [=]")
      .between(1, 1000000);
  command.add("--max-time SECONDS", o.max_time_s, "Time for a measurement at most [=]", kCommon)
      .between(0, kMostSeconds);
  command
      .add("--precision FRACTION", o.precision,
           "Stop when the median is known to this fraction [=]")
      .between(0, 1);
  command
      .add("--duty FRACTION", o.duty,
           "Share of the time that samples take; the device rests in between, and keeps the clocks "
           "that it has amid lighter work [=]")
      .between(0.01, 1);
  command
      .add("--call-timeout SECONDS", o.call_timeout_s,
           "Give up on a call that takes longer, with what there is in the report; 0: never [=]")
      .between(0, kMostSeconds);
  command.add(
      "--no-ceilings", [&o](bool is_on) { o.measure_stream_shapes = !is_on; },
      "Do not measure what the memory can do at best: starts sooner, and a profiler sees the "
      "variants alone");
  command.add(
      "--check-company", o.check_company,
      "Measure each variant again, alone in a process of its own, and say whose time depends "
      "on what else was measured");
  command.add(
      "--why",
      [&o](bool is_on) {
        o.why = is_on ? std::vector<std::string>{"*"} : std::vector<std::string>();
      },
      "Say what limits each variant on a GPU: after all samples it is called once more under ncu "
      "of Nsight Compute, on each geometry in its first cell, and counters are read");
  command.add("--energy", o.measure_energy,
              "Measure the joules of a call, too, from the energy counter of the GPU: more than a "
              "second for each variant in each cell");
  command.add(
      "--verify SCOPE", choice(o.verify),
      "all: every element of every selected tensor; sampled: the timed tensors, the first 16 "
      "Mi elements or 256 Mi multiplications [all]");
}

void add_output_options(Command& command, record::RunOptions& o) {
  command.group = "Output";
  command.add(
      "--json FILE", o.json,
      "Write the report there; - is stdout (the table moves to stderr); in a folder, a task "
      "of a job writes shard-I.json, and each of several GPUs a file with its UUID as name",
      kCommon | kFiles);
  command.add("--shard I/N", o.shard,
              "This is task I of N, counted from 0, of which each has a GPU; else mpirun, srun, a "
              "job array or a Kubernetes Job says it");
  command.add("--split", o.split, "Measure every N-th geometry only: the tasks share a model");
  command.add("--samples KEEP",
              choice(o.keep_samples, Choices<bool>{{"all", true}, {"summary", false}}),
              "all: the report holds every sample; summary: it holds what compare and history need "
              "of them, and is small [all]");
  command.add(
      "--anonymous", o.anonymous,
      "Leave the host's name, the folders of files, the GPU's address and serial number out "
      "of the report; of the last a hash tells boards apart");
  add_force_option(command, o.force);
  command.add(
      "--dry-run", o.dry_run,
      "Show what would be measured, the memory and the time that it takes; measure nothing, "
      "write no report",
      kCommon);
  command.add("-q,--quiet", o.quiet, "No table and no progress", kCommon);
}

struct Arguments {
  record::RunOptions options;
  std::string options_file;  // with all of them instead; empty: none
};

void check_why(const record::RunOptions& options) {
  if (options.device == "cpu") {
    throw Error(ErrorKind::kUsage, "--why: counters are read on GPUs; of the CPU perf has them");
  }
  if (device::names_several(options.device) || options.together_and_alone) {
    throw Error(ErrorKind::kUsage,
                "--why: counters are read on one device, and would disturb the others; name it, as "
                "in --device cuda:0");
  }
}

ExitCode run(const Arguments& arguments, const Context& context) {
  constexpr std::uint64_t kMostBytes = 64 << 20;
  const std::string& file = arguments.options_file;
  record::RunOptions options =
      file.empty() ? arguments.options
                   : plan::run_options_from_json(read_input(file, kMostBytes), file);
  if (options.command.empty()) options.command = context.argv;
  if (!options.why.empty()) check_why(options);
  const bool is_of_several = device::names_several(options.device) || options.together_and_alone;
  if (file.empty() && options.in_turn && !is_of_several) {
    warn("--in-turn changes nothing with one device");
  }
  return is_of_several ? bench::run_on_several(options) : run_on_one(options, context);
}

}  // namespace

Command run_command() {
  const auto a = std::make_shared<Arguments>();
  Command command("run", "Verify and time every variant, write a report of speedups", kExamples);
  command.add(
      "--help-all", [](bool) {}, "All options", kCommandLineOnly);
  add_tensor_options(command, a->options);
  add_operation_options(command, a->options);
  add_variant_options(command, a->options);
  add_mode_options(command, a->options);
  add_several_options(command, a->options);
  add_sampling_options(command, a->options);
  add_output_options(command, a->options);
  command.add("--options FILE", a->options_file, "All options, as JSON",
              kHidden | kCommandLineOnly);
  command.run = [a](const Context& context) { return run(*a, context); };
  return command;
}

}  // namespace nf4bench::cli
