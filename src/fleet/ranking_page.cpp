#include "exports/html_kit.hpp"
#include "fleet/fleet_text.hpp"
#include "fleet/judged_text.hpp"
#include "fleet/page_parts.hpp"
#include "report/tool.hpp"
#include "text/units.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>
#include <utility>

namespace nf4bench::fleet {
namespace {

using exports::html_text;

// "<tr><td>...": but for the first, a cell that begins with a digit or a sign is a number.
std::string row_of(const std::vector<std::string>& cells, const std::string& id = "") {
  std::string text = id.empty() ? "<tr>" : fmt::format("<tr id=\"{}\">", id);
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const bool is_number =
        i > 0 && !cells[i].empty() &&
        std::string_view("+-0123456789").find(cells[i].front()) != std::string_view::npos;
    text += fmt::format("<td{}>{}</td>", is_number ? " class=\"number\"" : "", cells[i]);
  }
  return text + "</tr>\n";
}

std::string table_of(const std::vector<const char*>& headings, const std::string& rows) {
  std::string text = "<div class=\"wide\"><table><thead><tr>";
  for (const char* heading : headings) text += fmt::format("<th>{}</th>", heading);
  return text + "</tr></thead><tbody>\n" + rows + "</tbody></table></div>\n";
}

std::string verdict_of(const UnitSummary& summary) {
  const std::string word = to_string(summary.verdict);
  return stands_out(summary) ? "<span class=\"bad\">" + word + "</span>" : word;
}

std::string unit_row(const PageGroup& page, std::size_t rank) {
  const UnitSummary& summary = page.analysis.ranking[rank];
  const Unit& unit = page.group.units[summary.unit];
  const bool is_measured = summary.cells > 0;
  return row_of(
      {unit_name(unit), verdict_of(summary), is_measured ? log_percent(summary.deviation) : "",
       is_measured ? fmt::format("{:.1f}", summary.z) : "", log_percent(summary.memory_deviation),
       log_percent(summary.other_deviation),
       fmt::format("{}/{}", summary.slow_cells, summary.cells),
       log_percent(summary.clock_deviation), if_known(unit.temperature_c, "{:.0f} C"),
       if_known(unit.power_w, "{:.0f} W"),
       unit.throttled ? fmt::format("{:.1f} %", 100.0 * *unit.throttled) : "",
       html_text(summary.cause), html_text(unit.report)},
      exports::anchor_of(page.first_row + rank));
}

std::string units_section(const std::vector<PageGroup>& pages) {
  std::string rows;
  for (const PageGroup& page : pages) {
    for (std::size_t rank = 0; rank < page.analysis.ranking.size(); ++rank) {
      rows += unit_row(page, rank);
    }
  }
  return "<section id=\"units\"><h2>Units</h2>" +
         table_of({"unit", "verdict", "deviation", "z", "memory", "other", "slow cells", "clock",
                   "temperature", "power", "throttled", "likely cause", "report"},
                  rows) +
         "</section>\n";
}

std::string cells_section(const PageGroup& page) {
  std::string rows;
  for (const std::size_t i : ordered_cells(page)) {
    const CellSummary& cell = page.analysis.cells[i];
    const auto time = [&](double seconds) {
      return text::format_time(seconds, text::time_scale({cell.median_s}));
    };
    const auto name = [&](std::size_t unit) { return html_text(page.group.units[unit].id); };
    rows += row_of({html_text(page.group.cells[i].name), to_string(page.group.cells[i].bound),
                    fmt::format("{}", cell.units), time(cell.median_s),
                    fmt::format("{:.2f} %", 100.0 * cell.mad),
                    fmt::format("{:.1f} %", 100.0 * (cell.highest_s / cell.lowest_s - 1.0)),
                    time(cell.lowest_s), name(cell.lowest_unit), time(cell.highest_s),
                    name(cell.highest_unit)});
  }
  return fmt::format("<section id=\"cells{}\"><h2>Cells</h2>", page.suffix) +
         table_of({"cell", "bound by", "units", "median", "MAD", "spread", "lowest", "of",
                   "highest", "of"},
                  rows) +
         "</section>\n";
}

// Over all cells, those that the memory binds, or the others: where it is slowest.
double greatest_deviation(const UnitSummary& summary) {
  return std::max({summary.deviation, summary.memory_deviation.value_or(summary.deviation),
                   summary.other_deviation.value_or(summary.deviation)});
}

std::string left_out(const char* what, const std::vector<LeftOut>& reports) {
  std::string text;
  for (const LeftOut& each : reports) {
    text += fmt::format("<p class=\"warning\">{}: {}: {}</p>\n", what, html_text(each.report),
                        html_text(each.reason));
  }
  return text;
}

// What is wrong, in sentences.
std::string findings_of(const JudgedFleet& judged, const std::vector<PageGroup>& pages) {
  std::string text;
  for (const PageGroup& page : pages) {
    for (std::size_t rank = 0; rank < page.analysis.ranking.size(); ++rank) {
      const UnitSummary& summary = page.analysis.ranking[rank];
      if (summary.verdict != UnitVerdict::kSlow && summary.verdict != UnitVerdict::kFailed)
        continue;
      text += fmt::format("<p class=\"warning\">{}: <a href=\"#{}\">{}</a>{}{}</p>\n",
                          verdict_of(summary), exports::anchor_of(page.first_row + rank),
                          unit_name(page.group.units[summary.unit]),
                          summary.cells > 0 ? ", " + log_percent(greatest_deviation(summary)) : "",
                          summary.cause.empty() ? "" : ", likely cause " + summary.cause);
    }
  }
  for (const std::string& name : judged.fleet.missing) {
    text += fmt::format("<p class=\"warning\">missing: {}</p>\n", html_text(name));
  }
  return text + left_out("refused", judged.fleet.refused) +
         left_out("not read", judged.fleet.unread) + left_out("replaced", judged.fleet.replaced);
}

std::string header_of(const JudgedFleet& judged, const std::vector<PageGroup>& pages) {
  std::string text =
      fmt::format("<header><h1>{}: {}</h1><p class=\"faint\">nf4bench {}</p>\n",
                  html_text(pages.empty() ? "No fleet" : device_of(pages.front().group.facts)),
                  count_text(judged.analyses), html_text(report::tool_info().version));
  text += findings_of(judged, pages) + "<nav>";
  for (const auto& [id, name] :
       {std::pair("ranking", "Ranking"), std::pair("heat", "Heat map"), std::pair("cells", "Cells"),
        std::pair("single", "One unit"), std::pair("units", "Units")}) {
    text += fmt::format("<a href=\"#{}\">{}</a>", id, name);
  }
  return text + "</nav></header>\n";
}

std::string group_sections(const PageGroup& page) {
  return fmt::format("<p><b>{}</b>: {}, {}. <span class=\"faint\">{}. {}</span></p>\n",
                     html_text(device_of(page.group.facts)),
                     text::format_count(static_cast<long long>(page.group.units.size()), "unit"),
                     text::format_count(static_cast<long long>(page.group.cells.size()), "cell"),
                     html_text(facts_text(page.group.facts)),
                     rule_text(page.group, page.analysis)) +
         ranking_section(page) + heat_section(page) + cells_section(page);
}

}  // namespace

std::string ranking_page(const JudgedFleet& judged) {
  std::vector<PageGroup> pages;
  std::size_t row = 0;
  for (std::size_t i = 0; i < judged.analyses.size(); ++i) {
    const Group& group = judged.fleet.groups[i];
    pages.push_back({group, judged.analyses[i], row, i == 0 ? "" : fmt::format("-{}", i + 1)});
    row += group.units.size();
  }
  std::string body = header_of(judged, pages);
  for (const PageGroup& page : pages) body += group_sections(page);
  body += single_section(pages) + units_section(pages);
  return exports::html_document({.title = "nf4bench fleet: " + count_text(judged.analyses),
                                 .style = std::string(exports::kPageStyle) + kFleetStyle,
                                 .body = body});
}

}  // namespace nf4bench::fleet
