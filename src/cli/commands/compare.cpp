#include "base/terminal.hpp"
#include "base/text.hpp"
#include "cli/commands/commands.hpp"
#include "cli/files.hpp"
#include "cli/shared_options.hpp"
#include "compare/baseline_store.hpp"
#include "compare/compare_reports.hpp"
#include "compare/gate.hpp"
#include "compare/history/history.hpp"
#include "compare/result_text.hpp"
#include "compare/run_cells.hpp"
#include "page/page.hpp"
#include "report/report.hpp"
#include "text/page.hpp"
#include "text/units.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <optional>
#include <set>

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

struct Arguments {
  Words reports;              // BASE NEW...; all are NEW when an option names the base
  Words base;                 // further files of the base
  std::string baseline;       // name in the store
  std::string save_baseline;  // name in the store
  std::string baseline_dir = ".nf4bench/baselines";
  bool force = false;
  Comparing comparing;
  Words allow;
  bool gate = false;
  bool strict = false;
  std::string confirm;
  std::string format = "table";
  bool json = false;
};

// The reports of both sides; the base is empty when there is nothing to compare with.
struct Sides {
  std::vector<report::NamedReport> base;
  std::vector<report::NamedReport> fresh;
  bool is_base_of_model = false;  // of other units, because this one has no baseline
};

[[noreturn]] void refuse_sides(const std::string& problem) {
  throw Error(ErrorKind::kUsage,
              "compare: {}; wanted BASE.json NEW.json, or NEW.json with --base, --baseline or "
              "--save-baseline. See \"nf4bench compare --help\"",
              problem);
}

void tell_of_model(const compare::Baseline& baseline, const record::Report& report) {
  if (baseline.other_units == 0) return;
  write_stderr(fmt::format("{} has no baseline of its own; compared with {} of its model, {}\n",
                           escaped(report.device.uuid),
                           text::format_count(baseline.other_units, "other GPU"),
                           escaped(report.device.name)));
}

Sides read_sides(const Arguments& arguments) {
  if (arguments.reports.empty()) refuse_sides("no report is given");
  std::vector<std::string> base = arguments.base;
  std::vector<std::string> fresh = arguments.reports;
  const bool is_base_named = !base.empty() || !arguments.baseline.empty();
  // With --save-baseline all reports belong to one side: they are stored and pooled later.
  if (!is_base_named && fresh.size() > 1 && arguments.save_baseline.empty()) {
    base.push_back(fresh.front());
    fresh.erase(fresh.begin());
  }
  const bool has_base = !base.empty() || !arguments.baseline.empty();
  if (!has_base && arguments.save_baseline.empty()) refuse_sides("only one report is given");
  if (!has_base && arguments.gate) refuse_sides("--gate has nothing to compare with");
  Sides sides = {.base = report::read_reports(base), .fresh = report::read_reports(fresh)};
  if (!arguments.baseline.empty()) {
    const compare::BaselineStore store(arguments.baseline_dir);
    compare::Baseline baseline = store.load(arguments.baseline, sides.fresh.front().report);
    sides.is_base_of_model = baseline.other_units > 0;
    tell_of_model(baseline, sides.fresh.front().report);
    std::move(baseline.reports.begin(), baseline.reports.end(), std::back_inserter(sides.base));
  }
  return sides;
}

// Compares; when there are doubts, runs the command of --confirm and compares again.
compare::ComparisonResult compare_and_confirm(Sides& sides, const Arguments& arguments,
                                              const compare::CompareOptions& options) {
  std::set<std::string> measured;
  for (const report::NamedReport& each : sides.base)
    measured.merge(compare::measured_variants(each.report));
  for (const report::NamedReport& each : sides.fresh)
    measured.merge(compare::measured_variants(each.report));
  compare::check_patterns(options.variants, measured);
  compare::ComparisonResult result = compare::compare_reports(sides.base, sides.fresh, options);
  if (arguments.confirm.empty() || !compare::has_doubtful_cell(result)) return result;
  write_stderr(fmt::format("confirming {} SLOWER and {} UNSURE cells\n",
                           result.count(compare::CellVerdict::kSlower),
                           result.count(compare::CellVerdict::kUnsure)));
  try {
    sides.fresh.push_back(compare::run_confirmation(arguments.confirm, result));
  } catch (const Error& error) {  // the first verdicts stay, and no gate passes
    result.faults.emplace_back(error.what());
    return result;
  }
  return compare::compare_reports(sides.base, sides.fresh, options);
}

std::string text_of(const compare::ComparisonResult& result, const compare::GateDecision* decision,
                    const std::string& format) {
  if (format == "table") return compare::comparison_table(result, decision, text::table_style());
  if (format == "json") return compare::comparison_json(result, decision);
  const text::Document document = compare::comparison_document(result, decision);
  if (format == "markdown") return text::markdown(document);
  return page::page_text({.title = "comparison: " + compare::counts_text(result),
                          .json = compare::comparison_json(result, decision),
                          .tables = text::html(document)});
}

// Without a gate slower cells are no failure, but having compared nothing is one.
ExitCode ungated_code(const compare::ComparisonResult& result) {
  if (!result.is_comparable) return ExitCode::kNotComparable;
  return result.measured() == 0 ? ExitCode::kInconclusive : ExitCode::kOk;
}

// One line on stderr, because many logs do not show stdout.
void explain_not_comparable(const compare::ComparisonResult& result) {
  std::vector<std::string> names;
  for (const compare::Difference& each : result.differences) {
    if (each.matters && !each.allowed) names.push_back(compare::difference_text(each));
  }
  write_stderr(
      fmt::format("nf4bench: error: the reports are not comparable: {}; --allow NAME "
                  "compares them all the same\n",
                  fmt::join(names, "; ")));
}

// What says that a file of an older baseline must stay: the reports that were named are inputs. The
// older baseline is none, although --baseline may read it: to replace it is what was asked for.
compare::CheckPath baseline_check(const Arguments& arguments, const Context& context) {
  CommandInputs inputs = {.reports = arguments.reports};
  inputs.reports.insert(inputs.reports.end(), arguments.base.begin(), arguments.base.end());
  return [target = report_target("--save-baseline", "", files_read(inputs, context),
                                 arguments.force)](const std::filesystem::path& path) mutable {
    target.path = path.native();
    check_output(target);
  };
}

void save(const Arguments& arguments, const std::vector<report::NamedReport>& fresh,
          const compare::CheckPath& check) {
  compare::require_baselines(fresh);
  compare::BaselineStore(arguments.baseline_dir).save(arguments.save_baseline, fresh, check);
  std::set<std::string> devices;
  for (const report::NamedReport& each : fresh) devices.insert(compare::device_key(each.report));
  write_stderr(fmt::format("saved baseline \"{}\" of {}\n", arguments.save_baseline,
                           fmt::join(devices, ", ")));
}

ExitCode compare_sides(Sides& sides, const Arguments& arguments,
                       const compare::CompareOptions& options) {
  const compare::ComparisonResult result = compare_and_confirm(sides, arguments, options);
  std::optional<compare::GateDecision> decision;
  if (arguments.gate) {
    decision = compare::decide_gate(
        result, arguments.strict ? compare::Strictness::kStrict : compare::Strictness::kLenient);
  }
  write_stdout(
      text_of(result, decision ? &*decision : nullptr, arguments.json ? "json" : arguments.format));
  if (!result.is_comparable) explain_not_comparable(result);
  return decision ? decision->code : ungated_code(result);
}

ExitCode judge(const Arguments& arguments, const Context& context) {
  compare::CompareOptions options = {.metric = arguments.comparing.metric,
                                     .threshold = arguments.comparing.threshold,
                                     .run_noise = arguments.comparing.noise,
                                     .allowed = arguments.allow,
                                     .variants = arguments.comparing.variants};
  Sides sides = read_sides(arguments);
  if (sides.is_base_of_model) options.allowed.emplace_back("uuid");
  const bool saves = !arguments.save_baseline.empty();
  const compare::CheckPath check = baseline_check(arguments, context);
  if (saves) {
    const compare::BaselineStore store(arguments.baseline_dir);
    for (const report::NamedReport& each : sides.fresh) {
      store.check_replaceable(arguments.save_baseline, each.report, check);
    }
  }
  ExitCode code = ExitCode::kOk;
  if (!sides.base.empty()) code = compare_sides(sides, arguments, options);
  if (code == ExitCode::kOk && saves) save(arguments, sides.fresh, check);
  return code;
}

}  // namespace

Command compare_command() {
  const auto a = std::make_shared<Arguments>();
  Command command("compare", "Judge new reports against old ones, as a gate if wanted", kExamples);
  command.add("report", a->reports,
              "Reports as \"nf4bench run --json\" writes them; several of a side are pooled",
              kTakesAll | kFiles);
  command.group = "Which reports";
  command.add("--base,--baseline-file FILE", a->base,
              "A report of the base (repeatable); all others are new", kFiles);
  command.add(
      "--baseline NAME", a->baseline,
      "The stored baseline of the GPU, or else that of others of its model; all reports are "
      "new");
  command.add("--save-baseline NAME", a->save_baseline,
              "Store the new reports under this name, if nothing failed");
  command.add("--baseline-dir DIR", a->baseline_dir, "Where baselines are [=]", kFiles);
  add_force_option(command, a->force);
  command.group = "How they are judged";
  add_comparing(
      command, a->comparing, "Smaller changes do not matter: 0.02 or 2% [4 x the noise]",
      "By how much medians differ from run to run, as a standard deviation [0.5% on a GPU, "
      "1% across GPUs, 5% on a CPU]");
  command
      .add("--allow NAME", a->allow,
           "Compare although this differs; names as the list of differences shows them", kList)
      .one_of(compare::difference_names());
  command.group = "Gate";
  command.add("--gate", a->gate,
              "Exit with 1 on SLOWER, MISSING or INVALID, and when nothing was measured");
  command.add("--strict", a->strict, "Exit with 6 on UNSURE").needs("--gate");
  command.add(
      "--confirm COMMAND", a->confirm,
      "Run this once when a cell is SLOWER or UNSURE, and pool the report that it writes to "
      "$NF4BENCH_CONFIRM_JSON; $NF4BENCH_CONFIRM_VARIANTS lists the variants in doubt",
      kCommandLineOnly);  // a command runs only when the command line names it
  command.group = "Output";
  command
      .add("--format NAME", a->format, "table, markdown for a comment, or html for a page [table]")
      .one_of({"table", "markdown", "html"});
  command.add("--json", a->json, "Print JSON instead").excludes("--format");
  command.run = [a](const Context& context) { return judge(*a, context); };
  return command;
}

}  // namespace nf4bench::cli
