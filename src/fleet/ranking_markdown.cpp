#include "fleet/fleet_text.hpp"
#include "fleet/judged_text.hpp"
#include "fleet/ranking_sheet.hpp"
#include "text/layout.hpp"
#include "text/units.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

namespace nf4bench::fleet {
namespace {

constexpr std::size_t kMostCells = 10;
constexpr std::size_t kMostNames = 20;
constexpr int kLongestText = 120;

bool needs_a_ticket(const UnitSummary& summary) {
  return summary.verdict == UnitVerdict::kSlow || summary.verdict == UnitVerdict::kFailed;
}

void add_ticket(text::Document& document, const Group& group, const GroupAnalysis& analysis,
                const UnitSummary& summary) {
  const Unit& unit = group.units[summary.unit];
  const auto fitted = [](const std::string& text) { return text::fitted(text, kLongestText); };
  document.heading(
      fmt::format("{}: {} on {}", to_string(summary.verdict), fitted(unit.id), fitted(unit.host)));
  if (summary.cells > 0) {
    document.item(
        "deviation",
        fmt::format("{} over {}, {} of them slow; z {:.1f}", log_percent(summary.deviation),
                    text::format_count(static_cast<long long>(summary.cells), "cell"),
                    summary.slow_cells, summary.z));
    document.item("cells that the memory binds, and others",
                  fmt::format("{}, {}", known(log_percent(summary.memory_deviation)),
                              known(log_percent(summary.other_deviation))));
  }
  document.item("likely cause", summary.cause);
  document.item("clock against the others", log_percent(summary.clock_deviation));
  document.item("temperature", if_known(unit.temperature_c, "{:.0f} C"));
  document.item("power", if_known(unit.power_w, "{:.0f} W"));
  document.item("samples throttled", unit.throttled ? text::format_change(*unit.throttled) : "");
  document.item("throttle reasons",
                fitted(fmt::format("{}", fmt::join(unit.throttle_reasons, ", "))));
  document.item("other processes on the GPU",
                unit.other_processes ? fmt::format("{}", *unit.other_processes) : "");
  document.item("wrong or impossible measurements",
                unit.failed > 0 ? fmt::format("{}, the first {}", unit.failed, unit.failure) : "");
  document.item("run", unit.complete ? "" : "did not end");
  document.item("report", fmt::format("{}, {}", fitted(unit.report), fitted(unit.started_at)));
  text::Sheet cells = unit_cells_sheet(group, analysis, summary.unit, kMostCells);
  const std::size_t shown = cells.sections.front().rows.size();
  document.table(std::move(cells));
  if (summary.cells > shown) {
    document.paragraph(
        fmt::format("and {} cells in which it is faster than that", summary.cells - shown));
  }
}

void add_list(text::Document& document, const char* heading,
              const std::vector<std::string>& lines) {
  if (lines.empty()) return;
  document.heading(heading);
  for (std::size_t i = 0; i < std::min(lines.size(), kMostNames); ++i) {
    document.item("", lines[i]);
  }
  if (lines.size() > kMostNames) {
    document.item("", fmt::format("and {} more", lines.size() - kMostNames));
  }
}

std::vector<std::string> lines_of(const std::vector<LeftOut>& reports) {
  std::vector<std::string> lines;
  lines.reserve(reports.size());
  for (const LeftOut& each : reports) {
    lines.push_back(fmt::format("{}: {}", text::fitted(each.report, kLongestText),
                                text::fitted(each.reason, kLongestText)));
  }
  return lines;
}

}  // namespace

text::Document ranking_document(const JudgedFleet& judged) {
  text::Document document;
  document.title("nf4bench fleet: " + count_text(judged.analyses));
  for (std::size_t i = 0; i < judged.analyses.size(); ++i) {
    const Group& group = judged.fleet.groups[i];
    const GroupAnalysis& analysis = judged.analyses[i];
    document.paragraph(
        fmt::format("{}: {}, {}. {}, {}", text::fitted(device_of(group.facts), kLongestText),
                    text::format_count(static_cast<long long>(group.units.size()), "unit"),
                    text::format_count(static_cast<long long>(group.cells.size()), "cell"),
                    text::fitted(facts_text(group.facts), 400), dates_text(group)));
    document.paragraph(rule_text(group, analysis));
    for (const UnitSummary& summary : analysis.ranking) {
      if (needs_a_ticket(summary)) add_ticket(document, group, analysis, summary);
    }
  }
  add_list(document, "Missing", judged.fleet.missing);
  add_list(document, "Refused", lines_of(judged.fleet.refused));
  add_list(document, "Not read", lines_of(judged.fleet.unread));
  return document;
}

}  // namespace nf4bench::fleet
