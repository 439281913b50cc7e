#include "check/check.hpp"

#include "compare/gate.hpp"
#include "cuda/cards.hpp"
#include "record/samples.hpp"
#include "report/host.hpp"
#include "statistics/statistics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <regex>

namespace nf4bench::check {
namespace {

using record::Report;

constexpr double kDay_s = 24.0 * 3600.0;

// The time that samples took in all.
double sampled_s(const Report& report) {
  double seconds = 0.0;
  for (const record::Measurement& row : report.measurements) {
    if (!row.time_s) continue;
    seconds += static_cast<double>(record::sample_count(row)) * row.time_s->median *
               row.launches_per_sample;
  }
  return seconds;
}

void check_dates(const Report& report, const std::string& now, std::vector<Finding>& findings) {
  const auto started = report::seconds_of(report.started_at);
  const auto finished = report::seconds_of(report.finished_at);
  if (!started || (!finished && !report.finished_at.empty())) {
    findings.push_back({Code::kDates, "", "a date that is none"});
    return;
  }
  if (*started > report::seconds_of(now).value() + kDay_s) {
    findings.push_back({Code::kDates, "", "began in the future, at " + report.started_at});
  }
  if (!finished) return;
  const double ran_s = *finished - *started;
  if (ran_s < 0.0) {
    findings.push_back(
        {Code::kDates, "",
         fmt::format("began at {} and ended at {}", report.started_at, report.finished_at)});
    return;
  }
  constexpr double kWholeSeconds = 1.0;
  const double took_s = sampled_s(report);
  if (took_s > ran_s + kWholeSeconds) {
    findings.push_back({Code::kDuration, "",
                        fmt::format("samples of {:.1f} s in a run of {:.0f} s", took_s, ran_s)});
  }
}

void check_build(const Report& report, std::vector<Finding>& findings) {
  static const std::regex version(R"(\d+\.\d+\.\d+)");
  static const std::regex commit("[0-9a-f]{40}");
  const record::ToolInfo& tool = report.tool;
  std::string what;
  // Longer texts take std::regex more stack than there is.
  constexpr std::size_t kMostVersion = 40;
  if (tool.version.size() > kMostVersion || !std::regex_match(tool.version, version)) {
    what = fmt::format("\"{}\" is no version of nf4bench", tool.version.substr(0, kMostVersion));
  } else if (!tool.git_commit.empty() && !std::regex_match(tool.git_commit, commit)) {
    what = fmt::format("\"{}\" is no commit", tool.git_commit.substr(0, kMostVersion));
  } else if (tool.build_type != "Release") {
    what = fmt::format("a {} build; wanted Release", tool.build_type);
  } else if (report.device.kind == record::DeviceKind::kCuda && tool.cuda_architectures.empty()) {
    what = "a GPU, and a build without CUDA";
  }
  if (!what.empty()) findings.push_back({Code::kBuild, "", what});
  if (tool.git_dirty || tool.git_commit.empty()) {
    findings.push_back({Code::kDirty, "", "built from sources that are no commit"});
  }
}

// The card that has this name, whatever its form and memory: "NVIDIA H100 80GB HBM3".
const kernels::cuda::Card* card_named(const std::string& name) {
  constexpr std::size_t kMostName = 200;  // as above
  if (name.size() > kMostName) return nullptr;
  static const std::regex around(
      R"(^NVIDIA |GeForce |Tesla |[- ](SXM\d?|PCIe|PCIE|NVL|HBM\d?e?|\d+ ?GB)(?=[- ]|$))");
  const auto bare = [](const std::string& full) { return std::regex_replace(full, around, ""); };
  // The last of several has the fastest memory.
  const kernels::cuda::Card* found = nullptr;
  for (const kernels::cuda::Card& card : kernels::cuda::known_cards()) {
    if (bare(card.name) == bare(name)) found = &card;
  }
  return found;
}

// A part of a card (MIG), or a smaller form, has less.
void check_device(const Report& report, std::vector<Finding>& findings) {
  constexpr double kTolerance = 1.05;  // data sheets round
  const record::DeviceInfo& device = report.device;
  const kernels::cuda::Card* const card =
      device.kind == record::DeviceKind::kCuda ? card_named(device.name) : nullptr;
  if (card == nullptr) return;
  const auto add = [&](Code code, const std::string& what, double found, double most) {
    findings.push_back({code, "",
                        fmt::format("{}: {:.6g} {}, a {} has {:.6g}", device.name, found, what,
                                    card->name, most)});
  };
  const kernels::DeviceFacts& facts = card->facts;
  if (device.compute_capability != facts.compute_capability) {
    add(Code::kDevice, "as compute capability", device.compute_capability,
        facts.compute_capability);
  }
  if (device.multiprocessors > facts.multiprocessors) {
    add(Code::kDevice, "multiprocessors", device.multiprocessors, facts.multiprocessors);
  }
  if (device.peak_bytes_per_s.value_or(0.0) > kTolerance * facts.memory_bytes_per_s) {
    add(Code::kDevice, "bytes/s of memory", *device.peak_bytes_per_s, facts.memory_bytes_per_s);
  }
  // GeForce cards multiply twice as fast with sums in float16.
  constexpr double kHalved = 256;
  const double most_flops = kTolerance * (card->tensor <= kHalved ? 4.0 : 2.0) * card->tensor *
                            facts.multiprocessors * card->clock_hz;
  for (const record::Measurement& row : report.measurements) {
    if (row.flops_per_s.value_or(0.0) <= most_flops) continue;
    add(Code::kBeyondPeak, "flops/s in a row", *row.flops_per_s, most_flops);
    break;
  }
}

void check_ceilings(const Report& report, std::vector<Finding>& findings) {
  const auto& peak = report.device.peak_bytes_per_s;
  const double most = std::max(report.ceilings.copy_bytes_per_s, report.ceilings.write_bytes_per_s);
  if (peak && most > record::kPeakTolerance * *peak) {
    findings.push_back({Code::kCeilings, "",
                        fmt::format("copies or writes at {:.0f} GB/s, the memory's peak is {:.0f}",
                                    most / 1e9, *peak / 1e9)});
  }
}

void check_completeness(const Report& report, std::vector<Finding>& findings) {
  if (!report.complete) findings.push_back({Code::kIncomplete, "", "its run did not finish"});
  const bool has_left_out = std::ranges::any_of(
      report.measurements,
      [](const record::Measurement& row) { return row.time_s && row.samples_s.empty(); });
  if (has_left_out) {
    findings.push_back({Code::kNoSamples, "",
                        "samples are left out, so that its medians cannot be computed again; run "
                        "with --samples all"});
  }
}

// Boards of one model differ by a few per cent.
void check_beside_others(const std::vector<report::NamedReport>& reports,
                         std::vector<Checked>& checked) {
  constexpr std::size_t kFewest = 4;  // this one, and three that agree on what is usual
  constexpr double kBand = 0.15;
  std::map<std::string, std::vector<double>> rates;
  for (const auto& [name, report] : reports) {
    if (report.ceilings.copy_bytes_per_s > 0.0) {
      rates[report.device.name].push_back(report.ceilings.copy_bytes_per_s);
    }
  }
  for (std::size_t i = 0; i < reports.size(); ++i) {
    const Report& report = reports[i].report;
    const double rate = report.ceilings.copy_bytes_per_s;
    const std::vector<double>& all = rates[report.device.name];
    if (report.device.kind != record::DeviceKind::kCuda || rate <= 0.0 || all.size() < kFewest) {
      continue;
    }
    const double usual = statistics::median(all);
    if (std::abs(rate / usual - 1.0) <= kBand) continue;
    checked[i].findings.push_back(
        {Code::kUnlikeOthers, "",
         fmt::format("copies at {:.0f} GB/s, the other reports of {} at {:.0f}", rate / 1e9,
                     report.device.name, usual / 1e9)});
  }
}

// What `report` alone shows.
std::vector<Finding> check_report(const Report& report, const std::string& now) {
  std::vector<Finding> findings;
  check_dates(report, now, findings);
  check_build(report, findings);
  check_device(report, findings);
  check_ceilings(report, findings);
  const std::vector<Finding> of_rows = check_rows(report);
  findings.insert(findings.end(), of_rows.begin(), of_rows.end());
  check_completeness(report, findings);
  return findings;
}

}  // namespace

bool refuses(Code code) {
  return code != Code::kIncomplete && code != Code::kNoSamples && code != Code::kDirty;
}

bool Checked::is_plausible() const {
  return std::ranges::none_of(findings,
                              [](const Finding& finding) { return refuses(finding.code); });
}

std::vector<Checked> check_reports(const std::vector<report::NamedReport>& reports,
                                   const std::string& now) {
  std::vector<Checked> checked;
  checked.reserve(reports.size());
  for (const auto& [name, report] : reports) checked.push_back({name, check_report(report, now)});
  for (std::size_t i = 0; i < reports.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (!compare::is_same_run(reports[i].report, reports[j].report)) continue;
      checked[i].findings.push_back({Code::kTwice, "", "is the run of " + reports[j].name});
      break;
    }
  }
  check_beside_others(reports, checked);
  return checked;
}

text::Sheet check_sheet(const std::vector<Checked>& checked) {
  text::Sheet sheet = {.columns = {{.name = "code"}, {.name = "what it says"}}};
  for (const Checked& report : checked) {
    text::Section& section = sheet.sections.emplace_back();
    section.title = report.name;
    section.aside = report.is_plausible() ? "plausible" : "refused";
    std::vector<Finding> findings = report.findings;
    std::stable_partition(findings.begin(), findings.end(),
                          [](const Finding& finding) { return refuses(finding.code); });
    if (findings.empty()) {
      section.rows.push_back({.cells = {"none", ""}, .message = "nothing in it contradicts it"});
    }
    for (const Finding& finding : findings) {
      text::Row& row = section.rows.emplace_back();
      const std::string where = finding.where.empty() ? "" : finding.where + ": ";
      row.cells = {to_string(finding.code), ""};
      row.message = where + finding.what;
      row.tone = refuses(finding.code) ? text::Tone::kBad : text::Tone::kFaint;
    }
  }
  return sheet;
}

json::JsonText check_json(const std::vector<Checked>& checked) {
  const auto json_of = [](const Finding& finding) {
    return json::json_object({{"code", to_string(finding.code)},
                              {"refuses", refuses(finding.code)},
                              {"where", json::json_string_or_null(finding.where)},
                              {"what", finding.what}});
  };
  const auto report_of = [&](const Checked& report) {
    return json::json_object({{"report", report.name},
                              {"plausible", report.is_plausible()},
                              {"findings", json::json_array_of(report.findings, json_of)}});
  };
  return json::json_object(
      {{"schema", "nf4bench.check"}, {"reports", json::json_array_of(checked, report_of)}});
}

}  // namespace nf4bench::check
