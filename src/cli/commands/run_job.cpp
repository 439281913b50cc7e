#include "base/memory.hpp"
#include "base/terminal.hpp"
#include "bench/run_report.hpp"
#include "cli/commands/run_command.hpp"
#include "cli/commands/run_ending.hpp"
#include "cli/commands/run_plan.hpp"
#include "cli/options/choices.hpp"
#include "cli/options/peer_option.hpp"
#include "cli/progress_line.hpp"
#include "cli/signals.hpp"
#include "device/device_use.hpp"
#include "device/devices.hpp"
#include "plan/memory_plan.hpp"
#include "plan/sources.hpp"
#include "report/host.hpp"
#include "report/report_file.hpp"
#include "report/throttling.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace nf4bench::cli {
namespace {

constexpr char kNoBaseline[] = "none";

// Everything that can be said about the words of the command line before a file is opened.
record::Settings parse_options(const RunArguments& arguments) {
  record::Settings options = arguments.options;
  options.output_types = parse_output_types(arguments.dtypes);
  options.caches = parse_caches(arguments.caches);
  options.launches = parse_launches(arguments.launches);
  options.verify = parse_verify(arguments.verify);
  options.measure_stream_shapes = !arguments.no_ceilings;
  options.seed = arguments.synthetic.seed;
  check_device_name(arguments.device);
  return options;
}

plan::SourceRequest source_request(const RunArguments& arguments) {
  plan::SourceRequest request = {.inputs = arguments.inputs,
                                 .shapes = arguments.shapes,
                                 .presets = arguments.presets,
                                 .synthetic = arguments.synthetic,
                                 .tensor_regex = arguments.tensor_regex};
  request.synthetic.distribution =
      nf4::Distribution::kRandomCodes;  // power depends on data; no zeros
  request.synthetic.absmax_kind =
      arguments.plain ? nf4::AbsmaxKind::kPlain : nf4::AbsmaxKind::kNested;
  return request;
}

// The variant that speedups refer to; empty for none, as when its library could not be loaded.
std::string choose_baseline(const std::string& word, const device::Device& device,
                            const peer::Peers& peers) {
  if (word == kNoBaseline || (!word.empty() && peers.is_of_absent_peer(word))) return "";
  if (word.empty())
    return device.info().kind == record::DeviceKind::kCuda ? "multi_kernel" : "multi_pass";
  check_baseline(word, peers.variants());
  return word;
}

// The selected variants, led by the baseline if it was not selected.
std::vector<plan::SelectedVariant> choose_variants(const std::vector<std::string>& patterns,
                                                   const std::string& baseline,
                                                   const peer::Peers& peers) {
  std::vector<plan::SelectedVariant> selected =
      plan::select_variants(peers.variants(), without_absent_peers(patterns, peers));
  const auto is_baseline = [&](const plan::SelectedVariant& each) { return each.name == baseline; };
  if (std::any_of(selected.begin(), selected.end(), is_baseline)) return selected;
  for (const kernels::Variant& variant : peers.variants()) {
    if (baseline == variant.name) selected.insert(selected.begin(), {baseline, variant});
  }
  return selected;
}

// Fills in and checks what depends on the device.
void settle_options(record::Settings& options, const RunArguments& arguments,
                    const device::Device& device, const peer::Peers& peers) {
  options.baseline = choose_baseline(arguments.baseline, device, peers);
  const auto available = device.launch_modes();
  if (options.launches.empty()) options.launches = {available.front()};
  for (const record::LaunchMode mode : options.launches) {
    if (std::find(available.begin(), available.end(), mode) != available.end()) continue;
    throw Error(ErrorKind::kUsage,
                fmt::format("--launch: \"{}\" does not exist on {}; leave the option out there",
                            to_string(mode), device.info().id));
  }
}

// Notes a warning that is empty where there is nothing to warn of.
void warn(record::Report& report, const std::string& warning) {
  if (warning.empty()) return;
  report.warnings.push_back(warning);
  write_stderr(fmt::format("nf4bench: warning: {}\n", warning));
}

bench::RunObserver observe(record::Report& report, report::ReportFile& file, ProgressLine& progress,
                           const RunEnding& ending) {
  return {.on_measurement =
              [&report, &file](const record::Measurement& measurement) {
                report.measurements.push_back(measurement);
                file.changed();
              },
          .on_stream_ceiling =
              [&report](const record::StreamCeiling& ceiling) {
                report.stream_ceilings.push_back(ceiling);
              },
          .on_progress = [&progress](double done,
                                     const std::string& what) { progress.update(done, what); },
          .on_hang =
              [&progress, &ending](const std::string& problem) {
                progress.clear();
                ending.abandon(problem);
              }};
}

// Fills the report, and keeps its file up to date meanwhile.
void measure(record::Report& report, report::ReportFile& file, device::Device& device,
             const std::vector<plan::PlannedTensor>& planned,
             const std::vector<plan::SelectedVariant>& variants, const RunArguments& arguments,
             const RunEnding& ending, const std::atomic<bool>& interrupted) {
  ProgressLine progress(arguments.quiet ? ProgressLine::Mode::kSilent : ProgressLine::Mode::kAuto);
  if (!arguments.no_ceilings) {
    progress.update(0.0, "measuring what the memory can do");
    report.ceilings = device.measure_ceilings();
  }
  const bench::RunOutcome outcome =
      bench::run_benchmark(device, planned, variants, report.ceilings, report.settings,
                           observe(report, file, progress, ending), interrupted);
  report.tensors_verified = outcome.tensors_verified;
  report.state_after = device.state();
  report.finished_at = report::utc_now();
  report.complete = !outcome.interrupted;
  const std::vector<std::string> throttling = report::throttling_warnings(report);
  report.warnings.insert(report.warnings.end(), throttling.begin(), throttling.end());
}

}  // namespace

ExitCode execute(const RunArguments& arguments, const Context& context) {
  record::Settings options = parse_options(arguments);
  const std::vector<peer::PeerArgument> peer_arguments = peer::parse_peers(arguments.peers);
  plan::Sources sources = plan::find_sources(source_request(arguments));
  const auto device = device::open_device(
      arguments.device, {.config = arguments.fused_config, .threads = arguments.threads});
  const peer::Peers peers = load_peers(peer_arguments, *device);
  settle_options(options, arguments, *device, peers);
  const std::vector<plan::SelectedVariant> variants =
      choose_variants(arguments.variants, options.baseline, peers);
  std::vector<plan::PlannedTensor> planned = plan::plan_tensors(
      std::move(sources.tensors),
      arguments.all_tensors ? plan::TensorChoice::kAll : plan::TensorChoice::kOnePerGeometry);
  plan::check_memory(planned, options, device->info(), usable_memory_bytes());

  if (arguments.dry_run) {
    write_stdout(
        describe({*device, planned, variants, options},
                 bench::estimate_run(*device, planned, variants, options, !arguments.no_ceilings)));
    return ExitCode::kOk;
  }

  const std::atomic<bool>& interrupted = watch_for_interruption();
  record::Report report = bench::start_report(context.argv, *device, options, variants);
  report.warnings = sources.warnings;
  report.warnings.insert(report.warnings.end(), peers.warnings().begin(), peers.warnings().end());
  bench::describe_tensors(report, planned);
  report::ReportFile file(arguments.json, report);
  const RunEnding ending(report, file, arguments);
  const device::DeviceUse use(device->info());
  warn(report, use.company_at_start());
  try {
    measure(report, file, *device, planned, variants, arguments, ending, interrupted);
  } catch (const Error& error) {
    ending.break_off(error.what());
    throw;
  }
  warn(report, use.company_meanwhile());
  return ending.publish();
}

}  // namespace nf4bench::cli
