#include "cli/commands/compare/compare_job.hpp"

#include "base/terminal.hpp"
#include "base/text.hpp"
#include "cli/options/choices.hpp"
#include "cli/options/compare_choices.hpp"
#include "cli/outputs.hpp"
#include "compare/baseline_store.hpp"
#include "compare/compare_reports.hpp"
#include "compare/confirmation.hpp"
#include "compare/gate.hpp"
#include "compare/history/history.hpp"
#include "compare/report_faults.hpp"
#include "compare/result/change_text.hpp"
#include "compare/result/result_text.hpp"
#include "page/page.hpp"
#include "report/report_input.hpp"
#include "text/units.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>
#include <unistd.h>

namespace nf4bench::cli {
namespace {

// The reports of both sides; the base is empty when there is nothing to compare with.
struct Sides {
  std::vector<report::NamedReport> base;
  std::vector<report::NamedReport> fresh;
  bool is_base_of_model = false;  // of other units, because this one has no baseline
};

void check_allowed(const std::vector<std::string>& names) {
  const std::vector<std::string>& known = compare::difference_names();
  for (const std::string& name : names) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    throw Error(ErrorKind::kUsage, fmt::format("--allow: \"{}\" is not one of {}.{}", escaped(name),
                                               fmt::join(known, ", "), did_you_mean(name, known)));
  }
}

compare::CompareOptions parse_options(const CompareArguments& arguments) {
  const std::vector<std::string> formats = comparison_formats();
  if (std::ranges::find(formats, arguments.format) == formats.end()) {
    throw Error(ErrorKind::kUsage,
                fmt::format("--format: \"{}\" is not one of {}.{}", escaped(arguments.format),
                            fmt::join(formats, ", "), did_you_mean(arguments.format, formats)));
  }
  check_allowed(arguments.allow);
  return {.metric = parse_metric(arguments.metric),
          .threshold = parse_fraction("--threshold", arguments.threshold),
          .run_noise = parse_fraction("--noise", arguments.noise),
          .allowed = arguments.allow,
          .variants = arguments.variants};
}

[[noreturn]] void refuse_sides(const std::string& problem) {
  throw Error(ErrorKind::kUsage,
              fmt::format("compare: {}; wanted BASE.json NEW.json, or NEW.json with --base, "
                          "--baseline or --save-baseline. See \"nf4bench compare --help\"",
                          problem));
}

void tell_of_model(const compare::Baseline& baseline, const record::Report& report) {
  if (baseline.other_units == 0) return;
  write_stderr(fmt::format("{} has no baseline of its own; compared with {} of its model, {}\n",
                           escaped(report.device.uuid),
                           text::format_count(baseline.other_units, "other GPU"),
                           escaped(report.device.name)));
}

Sides read_sides(const CompareArguments& arguments) {
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
compare::ComparisonResult compare_and_confirm(Sides& sides, const CompareArguments& arguments,
                                              const compare::CompareOptions& options) {
  std::set<std::string> measured;
  for (const report::NamedReport& each : sides.base) measured.merge(measured_variants(each.report));
  for (const report::NamedReport& each : sides.fresh)
    measured.merge(measured_variants(each.report));
  check_variant_patterns(arguments.variants, measured);
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

void print(const compare::ComparisonResult& result, const compare::GateDecision* decision,
           const CompareArguments& arguments) {
  if (arguments.json) {
    write_stdout(compare::comparison_json(result, decision));
  } else if (arguments.format == "markdown") {
    write_stdout(text::markdown(compare::comparison_document(result, decision)));
  } else if (arguments.format == "html") {
    write_stdout(
        page::page_text({.title = "comparison: " + compare::counts_text(result),
                         .json = compare::comparison_json(result, decision),
                         .tables = text::html(compare::comparison_document(result, decision))}));
  } else {
    write_stdout(compare::comparison_table(result, decision,
                                           text::report_style(terminal_of(STDOUT_FILENO))));
  }
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
compare::CheckPath baseline_check(const CompareArguments& arguments, const Context& context) {
  CommandInputs inputs = {.reports = arguments.reports};
  inputs.reports.insert(inputs.reports.end(), arguments.base.begin(), arguments.base.end());
  return [target = report_target("--save-baseline", "", files_read(inputs, context),
                                 arguments.force)](const std::filesystem::path& path) mutable {
    target.path = path.native();
    check_output(target);
  };
}

// A row that failed has no time: it would be UNSURE, not INVALID, in every gate to come.
void refuse_failures(const report::NamedReport& named) {
  for (const record::Measurement& m : named.report.measurements) {
    if (m.status != record::Status::kFailed && m.status != record::Status::kInvalid) continue;
    throw Error(ErrorKind::kInput,
                fmt::format("{}: {} of {} {}: {}; such a report is no baseline",
                            escaped(named.name), escaped(m.variant), escaped(m.cell.tensor),
                            to_string(m.status), escaped(m.reason, 400)));
  }
}

void save(const CompareArguments& arguments, const std::vector<report::NamedReport>& fresh,
          const compare::CheckPath& check) {
  const std::vector<std::string> faults = compare::find_report_faults({}, fresh);
  if (!faults.empty()) {
    throw Error(ErrorKind::kInput, fmt::format("{}; such a report is no baseline", faults.front()));
  }
  for (const report::NamedReport& each : fresh) refuse_failures(each);
  compare::BaselineStore(arguments.baseline_dir).save(arguments.save_baseline, fresh, check);
  std::set<std::string> devices;
  for (const report::NamedReport& each : fresh) devices.insert(compare::device_key(each.report));
  write_stderr(fmt::format("saved baseline \"{}\" of {}\n", arguments.save_baseline,
                           fmt::join(devices, ", ")));
}

ExitCode compare_sides(Sides& sides, const CompareArguments& arguments,
                       const compare::CompareOptions& options) {
  const compare::ComparisonResult result = compare_and_confirm(sides, arguments, options);
  std::optional<compare::GateDecision> decision;
  if (arguments.gate) {
    decision = compare::decide_gate(
        result, arguments.strict ? compare::Strictness::kStrict : compare::Strictness::kLenient);
  }
  print(result, decision ? &*decision : nullptr, arguments);
  if (!result.is_comparable) explain_not_comparable(result);
  return decision ? decision->code : ungated_code(result);
}

}  // namespace

ExitCode execute(const CompareArguments& arguments, const Context& context) {
  compare::CompareOptions options = parse_options(arguments);
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

}  // namespace nf4bench::cli
