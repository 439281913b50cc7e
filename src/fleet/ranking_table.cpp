#include "base/text.hpp"
#include "fleet/fleet_text.hpp"
#include "fleet/judged_text.hpp"
#include "fleet/ranking_sheet.hpp"
#include "text/units.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace nf4bench::fleet {
namespace {

constexpr std::size_t kMostRows = 20;

// What `sheet` does not show of `count` rows.
void append_hidden(text::Page& page, const text::Sheet& sheet, std::size_t count,
                   const char* what) {
  const std::size_t hidden = count - sheet.sections.front().rows.size();
  if (hidden == 0) return;
  page.line(fmt::format("  and {} {}; --all shows them", hidden, what), text::Tone::kFaint);
}

void append_group(text::Page& page, const Group& group, const GroupAnalysis& analysis, bool all) {
  page.heading(fmt::format("{}: {}, {}", text::fitted(device_of(group.facts), 50),
                           text::format_count(static_cast<long long>(group.units.size()), "unit"),
                           text::format_count(static_cast<long long>(group.cells.size()), "cell")));
  page.paragraph(text::fitted(facts_text(group.facts), 400) + ", " + dates_text(group), 0,
                 text::Tone::kFaint);
  page.paragraph(rule_text(group, analysis), 0, text::Tone::kFaint);
  page.blank();
  const text::Sheet units = units_sheet(group, analysis, all ? group.units.size() : kMostRows);
  page.table(units);
  append_hidden(page, units, group.units.size(), "that are faster");
  const text::Sheet cells = spread_sheet(group, analysis, all ? group.cells.size() : kMostRows);
  if (!cells.sections.front().rows.empty()) {
    const auto measured = std::ranges::count_if(
        analysis.cells, [](const CellSummary& cell) { return cell.units > 0; });
    page.table(cells);
    append_hidden(page, cells, static_cast<std::size_t>(measured), "more");
  }
  page.blank();
}

void append_left_out(text::Page& page, const char* what, const std::vector<LeftOut>& reports) {
  for (std::size_t i = 0; i < std::min(reports.size(), kMostRows); ++i) {
    page.paragraph(
        fmt::format("{}: {}: {}", what, escaped(reports[i].report), printable(reports[i].reason)),
        2, text::Tone::kDoubt);
  }
  if (reports.size() > kMostRows) {
    page.line(fmt::format("{}: {} more", what, reports.size() - kMostRows), text::Tone::kDoubt);
  }
}

}  // namespace

std::string ranking_table(const JudgedFleet& judged, const text::Style& style) {
  text::Page page(style);
  for (std::size_t i = 0; i < judged.analyses.size(); ++i) {
    append_group(page, judged.fleet.groups[i], judged.analyses[i], judged.all);
  }
  for (const std::string& name : judged.fleet.missing) {
    page.line(fmt::format("missing: {}", escaped(name)), text::Tone::kBad);
  }
  append_left_out(page, "refused", judged.fleet.refused);
  append_left_out(page, "replaced", judged.fleet.replaced);
  append_left_out(page, "not read", judged.fleet.unread);
  page.line(count_text(judged.analyses), text::Tone::kHeading);
  if (judged.gate != nullptr && judged.gate->code != ExitCode::kOk) {
    page.paragraph(fmt::format("gate: {}", fmt::join(judged.gate->reasons, ", ")), 2,
                   text::Tone::kBad);
  }
  return page.take();
}

}  // namespace nf4bench::fleet
