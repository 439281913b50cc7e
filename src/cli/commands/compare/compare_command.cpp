#include "cli/commands/compare/compare_command.hpp"

#include "cli/options/compare_choices.hpp"
#include "cli/outputs.hpp"
#include "operation/operation.hpp"

#include <fmt/format.h>

namespace nf4bench::cli {
namespace {

constexpr char kExamples[] = R"(Examples:
  What changed between two runs:
    nf4bench compare before.json after.json
  Two runs a side, which says more than longer ones:
    nf4bench compare --base before1.json --base before2.json after1.json after2.json
  A CI job: fail when a cell got slower than the stored baseline, confirm before failing:
    nf4bench compare new.json --baseline main --gate \
      --confirm 'nf4bench run --preset llama-3.1-8b --quiet --json "$NF4BENCH_CONFIRM_JSON"'
  Make a run, or several to be pooled, the baseline of their device:
    nf4bench compare new.json --save-baseline main
Verdicts: FASTER, SAME, SLOWER; UNSURE (noise or clocks), INVALID (failed), MISSING (not measured).
Exit codes: 0 compared or passed, 1 gate failed, 2 usage, 3 bad input, 6 nothing to compare, or in a
gate all UNSURE or, with --strict, one, 7 not comparable or no such baseline.)";

void add_side_options(CLI::App& command, CompareArguments& a) {
  const char* group = "Which reports";
  add_repeated(command, a.reports,
               {"report", "BASE NEW ...",
                "Reports as \"nf4bench run --json\" writes them; several\nof a side are pooled"})
      .takes_all()
      .files();
  add_repeated(command, a.base,
               {"--base,--baseline-file", "FILE ...",
                "A report of the base (repeatable); all others are new"})
      .group(group)
      .files();
  add_single(command, a.baseline,
             {"--baseline", "NAME",
              "The stored baseline of the GPU, or else that of others of\n"
              "its model; all reports are new"})
      .group(group);
  add_single(
      command, a.save_baseline,
      {"--save-baseline", "NAME", "Store the new reports under this name, if nothing failed"})
      .group(group);
  add_single(command, a.baseline_dir,
             {"--baseline-dir", "DIR", fmt::format("Where baselines are [{}]", a.baseline_dir)})
      .group(group)
      .files();
  add_force_option(command, a.force).group(group);
}

void add_rule_options(CLI::App& command, CompareArguments& a) {
  const char* group = "How they are judged";
  add_single(command, a.metric,
             {"--metric", "NAME", "time, speedup, fraction_of_copy or energy [time]"})
      .group(group)
      .one_of(metric_words());
  add_list(command, a.variants,
           {"--variant", "NAME,...", "Only these variants; * and ? are wildcards [all]"})
      .group(group)
      .suggests(operation::built_in_variant_names());
  add_single(
      command, a.threshold,
      {"--threshold", "FRACTION", "Smaller changes do not matter: 0.02 or 2%\n[4 x the noise]"})
      .group(group)
      .may_be_number();
  add_single(
      command, a.noise,
      {"--noise", "FRACTION",
       "By how much medians differ from run to run, as a\nstandard deviation [0.5% on a GPU, "
       "1% across GPUs,\n5% on a CPU]"})
      .group(group)
      .may_be_number();
  add_list(command, a.allow,
           {"--allow", "NAME,...",
            "Compare although this differs; names as the list of\ndifferences shows them"})
      .group(group);
}

void add_gate_options(CLI::App& command, CompareArguments& a) {
  const char* group = "Gate";
  const Option gate = add_flag(command, "--gate", a.gate,
                               "Exit with 1 on SLOWER, MISSING or INVALID, and when\n"
                               "nothing was measured");
  gate.group(group);
  add_flag(command, "--strict", a.strict, "Exit with 6 on UNSURE").group(group).needs(gate);
  add_single(
      command, a.confirm,
      {"--confirm", "COMMAND",
       "Run this once when a cell is SLOWER or UNSURE, and pool\nthe report that it writes to "
       "$NF4BENCH_CONFIRM_JSON;\n$NF4BENCH_CONFIRM_VARIANTS lists the variants in doubt"})
      .command_line_only()  // a command runs only when the command line names it
      .group(group);
}

void add_output_options(CLI::App& command, CompareArguments& a) {
  const char* group = "Output";
  const Option format =
      add_single(command, a.format,
                 {"--format", "NAME", "table, markdown for a comment, or html for a page [table]"});
  format.group(group).one_of(comparison_formats());
  add_flag(command, "--json", a.json, "Print JSON instead").group(group).excludes(format);
}

}  // namespace

CLI::App* add_compare_command(CLI::App& app, CompareArguments& arguments) {
  CLI::App* command = add_command(
      app, "compare", "Judge new reports against old ones, as a gate if wanted", kExamples);
  add_side_options(*command, arguments);
  add_rule_options(*command, arguments);
  add_gate_options(*command, arguments);
  add_output_options(*command, arguments);
  return command;
}

}  // namespace nf4bench::cli
