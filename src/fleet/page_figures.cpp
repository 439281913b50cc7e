#include "exports/html_kit.hpp"
#include "fleet/judged_text.hpp"
#include "fleet/page_parts.hpp"
#include "text/units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

namespace nf4bench::fleet {
namespace {

using exports::coordinate;
using exports::html_text;
using exports::kDrawingWidth;

constexpr std::size_t kRankedUnits = 60;
constexpr std::size_t kHeatUnits = 200;
constexpr std::size_t kSingleUnits = 12;
constexpr double kLineHeight = 16.0;
constexpr double kFewestPercent =
    0.05;  // what the middle of an axis is away from its ends, at least

// The axis of deviations: `reach` to both sides of the median.
double x_of(double log_deviation, double reach) {
  const double share = 0.5 + 0.5 * std::expm1(log_deviation) / reach;
  return kDrawingWidth * std::clamp(share, 0.0, 1.0);
}

std::vector<exports::AxisLabel> labels_of(double reach) {
  return {{0.0, fmt::format("{:+.0f} %", -100.0 * reach)},
          {0.5, "median"},
          {1.0, fmt::format("{:+.0f} %", 100.0 * reach)}};
}

std::string grid_of(double reach, double threshold) {
  return exports::upright(x_of(0.0, reach), kLineHeight) +
         exports::upright(x_of(std::log1p(threshold), reach), kLineHeight, "one");
}

std::string rule(const char* style, double from, double to) {
  return fmt::format("<path class=\"{}\" d=\"M{} {}H{}\"/>", style, coordinate(from),
                     coordinate(kLineHeight / 2.0), coordinate(to));
}

std::string point(const char* style, double x) {
  return fmt::format("<path class=\"point {}\" d=\"M{} {}h0\"/>", style, coordinate(x),
                     coordinate(kLineHeight / 2.0));
}

const char* colour_of(UnitVerdict verdict) {
  switch (verdict) {
    case UnitVerdict::kSlow:
    case UnitVerdict::kFailed:
      return "s1";
    case UnitVerdict::kUnsure:
      return "s4";
    default:
      return "s0";
  }
}

// As much of a name as fits beside a drawing: the table has all of it.
std::string short_name(const Unit& unit) {
  const std::size_t most = unit.id.starts_with("GPU-") ? 12 : 24;
  return fmt::format("{} <span class=\"faint\">{}</span>",
                     html_text(std::string_view(unit.id).substr(0, most)),
                     html_text(std::string_view(unit.host).substr(0, 12)));
}

// A line that leads to the unit's row.
std::string unit_line(const PageGroup& page, std::size_t rank, const std::string& marks) {
  const UnitSummary& summary = page.analysis.ranking[rank];
  return fmt::format(
      "<a class=\"line\" href=\"#{}\"><span class=\"name\">{}</span>{}<span "
      "class=\"note\">{}</span>"
      "</a>\n",
      exports::anchor_of(page.first_row + rank), short_name(page.group.units[summary.unit]),
      exports::drawing(kLineHeight, marks),
      summary.cells > 0 ? log_percent(summary.deviation) : "no time");
}

std::string left_out_text(std::size_t all, std::size_t shown) {
  if (all <= shown) return "";
  return fmt::format(" The {} fastest of {} are left out; the table of units has them.",
                     all - shown, text::format_count(static_cast<long long>(all), "unit"));
}

std::string section(const char* id, const PageGroup& page, const char* heading,
                    const std::string& content) {
  return fmt::format("<section id=\"{}{}\"><h2>{}</h2>{}</section>\n", id, page.suffix, heading,
                     content);
}

// Places in the ranking: those that stand out, then the slowest of the others.
std::vector<std::size_t> shown_ranks(const PageGroup& page, std::size_t most) {
  std::vector<std::size_t> ranks(page.analysis.ranking.size());
  std::iota(ranks.begin(), ranks.end(), std::size_t{0});
  std::stable_partition(ranks.begin(), ranks.end(),
                        [&](std::size_t rank) { return stands_out(page.analysis.ranking[rank]); });
  ranks.resize(std::min(ranks.size(), most));
  return ranks;
}

// Shades of a heat map: from much faster to much slower, the neutral one in the middle.
constexpr int kShades = 4;
constexpr std::array<double, kShades> kShadeSteps = {1.0 / 6.0, 1.0 / 3.0, 2.0 / 3.0, 1.0};

int shade_of(double log_deviation, double threshold) {
  const double size = std::abs(std::expm1(log_deviation));
  int shade = 0;
  for (const double step : kShadeSteps) shade += size >= step * threshold ? 1 : 0;
  return log_deviation < 0.0 ? -shade : shade;
}

std::string shade_class(int shade) {
  return shade == 0 ? "h0" : fmt::format("{}{}", shade > 0 ? 'u' : 'd', std::abs(shade));
}

// Neighbours of one shade are one stroke.
std::string heat_marks(const PageGroup& page, std::size_t unit,
                       const std::vector<std::size_t>& cells) {
  std::string marks;
  const double width = kDrawingWidth / static_cast<double>(cells.size());
  for (std::size_t i = 0; i < cells.size();) {
    const auto shade_at = [&](std::size_t k) {
      return shade_of(deviation_of(page.group, page.analysis, unit, cells[k]),
                      page.analysis.threshold);
    };
    const auto is_measured = [&](std::size_t k) {
      return page.group.units[unit].values[cells[k]].is_measured();
    };
    std::size_t end = i + 1;
    if (is_measured(i)) {
      while (end < cells.size() && is_measured(end) && shade_at(end) == shade_at(i)) ++end;
      marks += rule(shade_class(shade_at(i)).c_str(), width * static_cast<double>(i),
                    width * static_cast<double>(end));
    }
    i = end;
  }
  return marks;
}

std::string heat_legend(double threshold) {
  std::string text = "<p class=\"legend\">";
  for (int shade = -kShades; shade <= kShades; ++shade) {
    const std::size_t step = static_cast<std::size_t>(std::max(std::abs(shade), 1)) - 1;
    const double percent = 100.0 * threshold * kShadeSteps[step];
    text += fmt::format("<span><i class=\"{}\"></i>{}</span> ", shade_class(shade),
                        shade == 0  ? fmt::format("within {:.1f} %", percent)
                        : shade > 0 ? fmt::format("{:.1f} % slower", percent)
                                    : fmt::format("{:.1f} % faster", percent));
  }
  return text + "</p>\n";
}

// Below a heat map: where the cells that the memory binds end.
std::vector<exports::AxisLabel> heat_labels(const PageGroup& page,
                                            const std::vector<std::size_t>& cells) {
  const auto memory = static_cast<double>(std::ranges::count_if(
      cells, [&](std::size_t cell) { return page.group.cells[cell].bound == Bound::kMemory; }));
  const double share = memory / static_cast<double>(cells.size());
  std::vector<exports::AxisLabel> labels;
  if (share > 0.0) labels.push_back({0.0, fmt::format("{:.0f} memory-bound", memory)});
  if (share < 1.0) {
    labels.push_back(
        {1.0, fmt::format("{:.0f} others", static_cast<double>(cells.size()) - memory)});
  }
  return labels;
}

double reach_of_ranking(const GroupAnalysis& analysis) {
  double reach = std::max(kFewestPercent, 1.5 * analysis.threshold);
  if (!analysis.ranking.empty()) {
    reach = std::max(reach, 1.1 * std::expm1(analysis.ranking.front().deviation));
  }
  return std::min(reach, 1.0);
}

// One cell of one unit: the range of the fleet, the middle half of it, and the unit.
std::string single_line(const PageGroup& page, std::size_t unit, std::size_t cell, double reach) {
  const CellSummary& summary = page.analysis.cells[cell];
  const double log_deviation = deviation_of(page.group, page.analysis, unit, cell);
  const double mad = std::log1p(summary.mad);
  const bool is_slow = std::expm1(log_deviation) > page.analysis.threshold;
  const std::string marks =
      grid_of(reach, page.analysis.threshold) +
      rule("whisker", x_of(std::log(summary.lowest_s / summary.median_s), reach),
           x_of(std::log(summary.highest_s / summary.median_s), reach)) +
      rule("half", x_of(-mad, reach), x_of(mad, reach)) +
      point(is_slow ? "s1" : "s0", x_of(log_deviation, reach));
  return fmt::format(
      "<div class=\"line\"><span class=\"name\">{}</span>{}<span class=\"note\">{}</span></div>\n",
      html_text(page.group.cells[cell].name), exports::drawing(kLineHeight, marks),
      log_percent(log_deviation));
}

std::string single_figure(const PageGroup& page, std::size_t rank, std::size_t number) {
  const UnitSummary& summary = page.analysis.ranking[rank];
  const std::vector<std::size_t> cells = ordered_cells(page);
  double reach = std::max(kFewestPercent, 1.5 * page.analysis.threshold);
  if (summary.cells > 0) {
    reach = std::clamp(1.1 * std::expm1(summary.worst_deviation), reach, 1.0);
  }
  std::string text = fmt::format(
      "<figure class=\"samples single\" id=\"c{}\"><figcaption>{}: {}{}{}</figcaption>\n", number,
      unit_name(page.group.units[summary.unit]), to_string(summary.verdict),
      summary.cause.empty() ? "" : ", likely cause ", summary.cause);
  for (const std::size_t cell : cells) {
    if (page.group.units[summary.unit].values[cell].is_measured()) {
      text += single_line(page, summary.unit, cell, reach);
    }
  }
  return text + exports::axis_line(labels_of(reach)) + "</figure>\n";
}

}  // namespace

std::vector<std::size_t> ordered_cells(const PageGroup& page) {
  std::vector<std::size_t> order;
  for (const Bound bound : {Bound::kMemory, Bound::kOther, Bound::kUnknown}) {
    for (std::size_t cell = 0; cell < page.group.cells.size(); ++cell) {
      const bool is_known = page.analysis.cells[cell].units > 1;
      if (is_known && page.group.cells[cell].bound == bound) order.push_back(cell);
    }
  }
  return order;
}

bool stands_out(const UnitSummary& summary) {
  return summary.verdict != UnitVerdict::kOk && summary.verdict != UnitVerdict::kNone;
}

std::string unit_name(const Unit& unit) {
  return html_text(unit.id) + " <span class=\"faint\">" + html_text(unit.host) + "</span>";
}

std::string ranking_section(const PageGroup& page) {
  const std::size_t all = page.analysis.ranking.size();
  const std::vector<std::size_t> ranks = shown_ranks(page, kRankedUnits);
  const double reach = reach_of_ranking(page.analysis);
  std::string text = fmt::format(
      "<p>How much longer a unit takes than the median of all, as the median over its cells, with "
      "its 95 % interval. The dashed line is the threshold of {:.0f} %.{}</p>\n<figure "
      "class=\"ranks\">\n",
      100.0 * page.analysis.threshold, left_out_text(all, ranks.size()));
  for (const std::size_t rank : ranks) {
    const UnitSummary& summary = page.analysis.ranking[rank];
    std::string marks = grid_of(reach, page.analysis.threshold);
    if (summary.ci95) {
      marks += rule("whisker", x_of(summary.ci95->low, reach), x_of(summary.ci95->high, reach));
    }
    if (summary.cells > 0) {
      marks += point(colour_of(summary.verdict), x_of(summary.deviation, reach));
    }
    text += unit_line(page, rank, marks);
  }
  return section("ranking", page, "Ranking",
                 text + exports::axis_line(labels_of(reach)) + "</figure>\n");
}

std::string heat_section(const PageGroup& page) {
  const std::vector<std::size_t> cells = ordered_cells(page);
  if (cells.empty()) return "";
  const std::size_t all = page.analysis.ranking.size();
  const std::vector<std::size_t> ranks = shown_ranks(page, kHeatUnits);
  std::string text = fmt::format(
      "<p>A line for each unit, those that stand out and then the slowest first, and a column for "
      "each of {}, in the order of "
      "the "
      "table of cells.{}</p>\n",
      text::format_count(static_cast<long long>(cells.size()), "cell"),
      left_out_text(all, ranks.size()));
  text += heat_legend(page.analysis.threshold) + "<figure class=\"heat\">\n";
  for (const std::size_t rank : ranks) {
    text += unit_line(page, rank, heat_marks(page, page.analysis.ranking[rank].unit, cells));
  }
  return section("heat", page, "Heat map",
                 text + exports::axis_line(heat_labels(page, cells)) + "</figure>\n");
}

std::string single_section(const std::vector<PageGroup>& pages) {
  std::string options;
  std::string figures;
  std::size_t number = 0;
  for (const PageGroup& page : pages) {
    for (const std::size_t rank : shown_ranks(page, kSingleUnits)) {
      const UnitSummary& summary = page.analysis.ranking[rank];
      const Unit& unit = page.group.units[summary.unit];
      options += fmt::format("<option value=\"c{}\">{} {} ({})</option>", number,
                             html_text(unit.id), html_text(unit.host), to_string(summary.verdict));
      figures += single_figure(page, rank, number++);
    }
  }
  return "<section id=\"single\"><h2>One unit against the others</h2><p>In each cell the thin line "
         "is the range of all units, the thick one holds the middle half, and the point is this "
         "unit. <label class=\"choice\">Unit: <select id=\"cell\">" +
         options + "</select></label></p>\n" + figures + "</section>\n";
}

// A heat map's strokes are as high as its lines, so that these touch.
const char* const kFleetStyle = R"CSS(
.ranks .drawing, .single .drawing { height: 16px; } .heat .drawing { height: 16px; }
.ranks .line, .heat .line, .single .line { grid-template-columns:
  minmax(0, 16em) minmax(0, 1fr) 4.5em; }
.heat .line .name, .ranks .line .name { padding: 0; }
.heat .drawing path { stroke-width: 16px; }
.half { stroke: var(--faint); stroke-width: 5; }
.h0 { --c: var(--rule); } .u1, .u2, .u3, .u4 { --c: var(--s1); } .d1, .d2, .d3, .d4 {
  --c: var(--s0); }
.h0, .u1, .u2, .u3, .u4, .d1, .d2, .d3, .d4 { stroke: var(--c); }
.u1, .d1 { opacity: 0.3; } .u2, .d2 { opacity: 0.5; } .u3, .d3 { opacity: 0.75; }
@media (max-width: 640px) {
  .ranks .line, .heat .line, .single .line { grid-template-columns:
    minmax(0, 8.5em) minmax(0, 1fr) 4.5em; }
  .heat .line .faint, .ranks .line .faint { display: none; } }
)CSS";

}  // namespace nf4bench::fleet
