#include "base/output_target.hpp"
#include "base/signals.hpp"
#include "base/terminal.hpp"
#include "base/text.hpp"
#include "bench/run.hpp"
#include "bench/run_plan.hpp"
#include "cli/commands/commands.hpp"
#include "cli/files.hpp"
#include "cli/progress.hpp"
#include "device/devices.hpp"
#include "plan/shard.hpp"
#include "report/host.hpp"
#include "report/report.hpp"
#include "report/report_file.hpp"
#include "report/tables.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <initializer_list>
#include <set>
#include <utility>

namespace nf4bench::cli {
namespace {

ExitCode verdict(const record::Report& report) {
  if (!report.complete) return interruption().value_or(ExitCode::kInterrupted);
  const auto has = [&](record::Status status) {
    return std::ranges::any_of(
        report.measurements, [status](const record::Measurement& m) { return m.status == status; });
  };
  if (has(record::Status::kFailed)) return ExitCode::kVerificationFailed;
  return has(record::Status::kPassed) ? ExitCode::kOk : ExitCode::kInconclusive;
}

// The reason of the first row with one of these statuses of each variant, for whoever sees no
// table.
void show_reasons(const record::Report& report, std::initializer_list<record::Status> statuses) {
  std::set<std::string> told;
  for (const record::Measurement& m : report.measurements) {
    if (std::ranges::find(statuses, m.status) == statuses.end()) continue;
    if (!told.insert(m.variant).second) continue;
    const auto tensor = std::ranges::find(report.tensors, m.cell.tensor, &record::ReportTensor::id);
    const std::string& name = tensor == report.tensors.end() ? m.cell.tensor : tensor->name;
    write_stderr(fmt::format("nf4bench: {} {} on {}: {}\n", escaped(m.variant), to_string(m.status),
                             escaped(name), printable(m.reason)));
  }
}

// "; their reasons are in the table and the report", as far as there are these.
std::string where_reasons_are(const record::RunOptions& options) {
  std::string places = options.quiet ? "" : "the table";
  if (!options.json.empty()) places += places.empty() ? "the report" : " and the report";
  return places.empty() ? "" : "; their reasons are in " + places;
}

// What is easily overlooked in the table, on stderr.
void explain_verdict(ExitCode code, const record::Report& report,
                     const record::RunOptions& options) {
  if (code == ExitCode::kVerificationFailed) {
    if (options.quiet) show_reasons(report, {record::Status::kFailed});
    const auto failed = std::ranges::count(report.measurements, record::Status::kFailed,
                                           &record::Measurement::status);
    write_stderr(fmt::format("nf4bench: {} of {} measurements failed{}\n", failed,
                             report.measurements.size(), where_reasons_are(options)));
  } else if (code == ExitCode::kInconclusive) {
    if (options.quiet) {
      show_reasons(report, {record::Status::kSkipped, record::Status::kInvalid});
    }
    write_stderr(fmt::format("nf4bench: none of {} measurements passed{}\n",
                             report.measurements.size(), where_reasons_are(options)));
  } else if (code != ExitCode::kOk) {
    const bool kept = !options.json.empty();
    write_stderr(fmt::format("nf4bench: interrupted after {} measurements{}\n",
                             report.measurements.size(),
                             kept ? "; the report so far is kept" : ""));
  }
}

// Writes and shows what there is when "nf4bench run" ends, however it ends. Borrows what it is
// given.
class RunEnding {
 public:
  RunEnding(record::Report& report, report::ReportFile& file, const record::RunOptions& options)
      : report_(report), file_(file), options_(options) {}

  // For a run that was finished or interrupted: saves the report, shows the table, and says on
  // stderr what a reader of the table could overlook. When the report cannot be saved, the table is
  // shown before the error is thrown.
  ExitCode publish() const;

  // For a run that an error ended: notes the error in the report, and saves and shows as much of
  // the report as it can. Never throws an Error.
  void break_off(const std::string& problem) const;

  // The same for a call that does not return. Ends the process at once, because the call may still
  // use whatever would be destroyed or waited for.
  [[noreturn]] void abandon(const std::string& problem) const;

 private:
  void show_table() const;

  record::Report& report_;
  report::ReportFile& file_;
  const record::RunOptions& options_;
};

ExitCode RunEnding::publish() const {
  try {
    file_.finish();
  } catch (const Error&) {
    show_table();
    throw;
  }
  show_table();
  const ExitCode code = verdict(report_);
  explain_verdict(code, report_, options_);
  return code;
}

void RunEnding::break_off(const std::string& problem) const {
  report_.warnings.push_back("the run ended early: " + problem);
  report_.finished_at = report::utc_now();
  try {
    file_.finish();
  } catch (const Error&) {  // NOLINT(bugprone-empty-catch): the first error counts
  }
  try {
    if (!report_.measurements.empty()) show_table();
  } catch (const Error&) {  // NOLINT(bugprone-empty-catch): the same
  }
}

void RunEnding::abandon(const std::string& problem) const {
  break_off(problem);
  write_stderr(
      fmt::format("nf4bench: error: {}; a call cannot be stopped, so that the run ends "
                  "here (--call-timeout sets the limit)\n",
                  problem));
  std::_Exit(static_cast<int>(interruption().value_or(ExitCode::kNoDevice)));
}

void RunEnding::show_table() const {
  if (options_.quiet) return;
  show_beside(options_.json == "-",
              [this](const text::Style& style) { return report::to_table(report_, style); });
}

// Says a warning, which may be empty, in the report as well.
void warn_in(record::Report& report, const std::string& warning) {
  if (warning.empty()) return;
  report.warnings.push_back(warning);
  warn(warning);
}

// Where the report goes, checked before foreign code runs and a device is opened.
OutputTarget choose_output(const bench::RunParts& parts, const Context& context) {
  CommandInputs inputs = {.peers = parts.peers,
                          .reports = {},
                          .activations = parts.options.activations_file,
                          .routing = operation::parse_routing(parts.options.routing).file};
  for (const auto& each : parts.sources.checkpoints) inputs.checkpoints.push_back(each.get());
  OutputTarget output =
      report_target("--json", parts.options.json, files_read(inputs, context), parts.options.force);
  if (output.path.empty()) return output;
  // The folder that the tasks of a job share is made by the first of them; if it cannot be, the
  // check of the path says why.
  const std::filesystem::path folder = std::filesystem::path(output.path).parent_path();
  std::error_code ignored;
  if (parts.shard && !folder.empty() && !std::filesystem::exists(folder, ignored)) {
    if (parts.options.dry_run) return output;
    std::filesystem::create_directories(folder, ignored);
  }
  check_text_output(output);
  return output;
}

// The exit code of a run that ended with `code`: a peer that was asked for is not to be missed in
// silence.
ExitCode with_absent_peers(ExitCode code, const bench::RunPlan& plan) {
  const bool is_decided = code != ExitCode::kOk && code != ExitCode::kInconclusive;
  if (is_decided || plan.absent_peers.empty() || plan.options.peers_are_optional) return code;
  write_stderr(
      fmt::format("nf4bench: peer {} could not be used, see the warnings; "
                  "--peer-optional goes without\n",
                  fmt::join(plan.absent_peers, ", ")));
  return ExitCode::kBadInput;
}

// Opens what the options name, but for the device.
bench::RunParts parts_of(record::RunOptions options) {
  bench::RunParts parts;
  parts.shard = plan::shard_of(options);
  // /dev/stdout and its other names mean "-", whose table goes to stderr.
  options.json = is_stdout(options.json) ? "-" : plan::report_path(options.json, parts.shard);
  device::check_device_name(options.device);
  for (const std::string& idle : bench::idle_options(options)) warn(idle);
  parts.peers = peer::parse_peers(options.peers);
  parts.sources = plan::find_sources(options);
  parts.options = std::move(options);
  return parts;
}

}  // namespace

ExitCode run_on_one(const record::RunOptions& asked, const Context& context) {
  bench::RunParts parts = parts_of(asked);
  const OutputTarget output = choose_output(parts, context);
  bench::RunPlan plan = bench::make_plan(std::move(parts), warn);
  const record::RunOptions& options = plan.options;
  if (options.single_call > 0) {
    bench::make_single_call(plan);
    return ExitCode::kOk;
  }
  if (options.dry_run) {
    write_stdout(bench::plan_text(plan));
    return ExitCode::kOk;
  }

  const std::atomic<bool>& interrupted = watch_for_interruption();
  record::Report report = bench::start_report(plan);
  const auto text_of = [&options](const record::Report& found) {
    return report::to_json(options.anonymous ? report::anonymous(found) : found);
  };
  report::ReportFile file(
      options.json, report, [&output] { check_output(output); }, text_of);
  const RunEnding ending(report, file, options);
  const device::DeviceUse use(plan.device->info());
  warn_in(report, use.company_at_start());
  try {
    ProgressLine progress(options.quiet ? ProgressMode::kSilent : ProgressMode::kAuto);
    const auto end_the_process = [&](const std::string& problem) {
      progress.clear();
      ending.abandon(problem);
    };
    bench::measure(
        plan, report,
        {.on_rows = [&file] { file.changed(); },
         .on_progress = [&progress](double done,
                                    const std::string& what) { progress.update(done, what); },
         .on_hang = end_the_process},
        interrupted);
  } catch (const Error& error) {
    ending.break_off(error.what());
    throw;
  }
  warn_in(report, use.company_meanwhile());
  return with_absent_peers(ending.publish(), plan);
}

}  // namespace nf4bench::cli
