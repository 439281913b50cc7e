#include "base/text.hpp"
#include "fleet/fleet_text.hpp"
#include "fleet/judged_text.hpp"
#include "text/printers.hpp"
#include "text/units.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

namespace nf4bench::fleet {
namespace {

constexpr std::size_t kMostCells = 10;
constexpr std::size_t kMostNames = 20;
constexpr int kLongestText = 120;

std::string plain(const std::string& text) {
  return text::in_markdown(text, kLongestText);
}

bool needs_a_ticket(const UnitSummary& summary) {
  return summary.verdict == UnitVerdict::kSlow || summary.verdict == UnitVerdict::kFailed;
}

// The cells in which a unit deviates most, those first in which it is slowest.
std::string cells_of(const Group& group, const GroupAnalysis& analysis, std::size_t unit) {
  std::vector<std::size_t> order;
  for (std::size_t cell = 0; cell < group.cells.size(); ++cell) {
    if (group.units[unit].values[cell].is_measured() && analysis.cells[cell].units > 1) {
      order.push_back(cell);
    }
  }
  const auto deviation = [&](std::size_t cell) {
    return deviation_of(group, analysis, unit, cell);
  };
  std::ranges::stable_sort(order, std::greater(), deviation);
  if (order.empty()) return "";
  std::string text =
      "\n| cell | bound | this GPU | median | deviation | fleet |\n"
      "| --- | --- | ---: | ---: | ---: | --- |\n";
  for (std::size_t i = 0; i < std::min(order.size(), kMostCells); ++i) {
    const CellSummary& cell = analysis.cells[order[i]];
    const double time_s = group.units[unit].values[order[i]].time_s;
    const auto time = [&](double seconds) {
      return text::format_time(seconds, text::time_scale({cell.median_s}));
    };
    text +=
        fmt::format("| {} | {} | {} | {} | {} | {} to {} |\n", plain(group.cells[order[i]].name),
                    to_string(group.cells[order[i]].bound), time(time_s), time(cell.median_s),
                    log_percent(deviation(order[i])), time(cell.lowest_s), time(cell.highest_s));
  }
  if (order.size() > kMostCells) {
    text +=
        fmt::format("\nand {} cells in which it is faster than that\n", order.size() - kMostCells);
  }
  return text;
}

std::string ticket_of(const Group& group, const GroupAnalysis& analysis,
                      const UnitSummary& summary) {
  const Unit& unit = group.units[summary.unit];
  std::string text = fmt::format("\n#### {}: {} on {}\n\n", to_string(summary.verdict),
                                 plain(unit.id), plain(unit.host));
  const auto add = [&](const char* name, const std::string& value) {
    if (!value.empty()) text += fmt::format("- {}: {}\n", name, value);
  };
  if (summary.cells > 0) {
    add("deviation",
        fmt::format("{} over {}, {} of them slow; z {:.1f}", log_percent(summary.deviation),
                    text::format_count(static_cast<long long>(summary.cells), "cell"),
                    summary.slow_cells, summary.z));
    add("cells that the memory binds, and others",
        fmt::format("{}, {}", known(log_percent(summary.memory_deviation)),
                    known(log_percent(summary.other_deviation))));
  }
  add("likely cause", summary.cause);
  add("clock against the others", log_percent(summary.clock_deviation));
  add("temperature", if_known(unit.temperature_c, "{:.0f} C"));
  add("power", if_known(unit.power_w, "{:.0f} W"));
  add("samples throttled", unit.throttled ? percent(*unit.throttled) : "");
  add("throttle reasons", plain(fmt::format("{}", fmt::join(unit.throttle_reasons, ", "))));
  add("other processes on the GPU",
      unit.other_processes ? fmt::format("{}", *unit.other_processes) : "");
  add("wrong or impossible measurements", unit.failed > 0 ? fmt::format("{}", unit.failed) : "");
  add("run", unit.complete ? "" : "did not end");
  add("report", fmt::format("{}, {}", plain(unit.report), plain(unit.started_at)));
  return text + cells_of(group, analysis, summary.unit);
}

std::string list_of(const char* heading, const std::vector<std::string>& lines) {
  if (lines.empty()) return "";
  std::string text = fmt::format("\n#### {}\n\n", heading);
  for (std::size_t i = 0; i < std::min(lines.size(), kMostNames); ++i) {
    text += "- " + lines[i] + '\n';
  }
  if (lines.size() > kMostNames) text += fmt::format("- and {} more\n", lines.size() - kMostNames);
  return text;
}

std::vector<std::string> lines_of(const std::vector<LeftOut>& reports) {
  std::vector<std::string> lines;
  lines.reserve(reports.size());
  for (const LeftOut& each : reports)
    lines.push_back(plain(each.report) + ": " + plain(each.reason));
  return lines;
}

}  // namespace

std::string ranking_markdown(const JudgedFleet& judged) {
  std::string text = "### nf4bench fleet: " + count_text(judged.analyses) + "\n";
  std::vector<std::string> missing;
  missing.reserve(judged.fleet.missing.size());
  for (const std::string& name : judged.fleet.missing) missing.push_back(plain(name));
  for (std::size_t i = 0; i < judged.analyses.size(); ++i) {
    const Group& group = judged.fleet.groups[i];
    const GroupAnalysis& analysis = judged.analyses[i];
    text += fmt::format("\n{}: {}, {}. {}\n", plain(device_of(group.facts)),
                        text::format_count(static_cast<long long>(group.units.size()), "unit"),
                        text::format_count(static_cast<long long>(group.cells.size()), "cell"),
                        text::in_markdown(facts_text(group.facts), 400));
    text += "\n" + rule_text(group, analysis) + "\n";
    for (const UnitSummary& summary : analysis.ranking) {
      if (needs_a_ticket(summary)) text += ticket_of(group, analysis, summary);
    }
  }
  return text + list_of("Missing", missing) + list_of("Refused", lines_of(judged.fleet.refused)) +
         list_of("Not read", lines_of(judged.fleet.unread));
}

}  // namespace nf4bench::fleet
