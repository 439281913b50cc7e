#include "fleet/ranking_text.hpp"

#include "base/text.hpp"
#include "text/layout.hpp"
#include "text/printers.hpp"
#include "text/units.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

namespace nf4bench::fleet {
namespace {

// A logarithm of a ratio as a change, "+1.5 %"; empty when it is not known.
std::string log_percent(const std::optional<double>& log) {
  return log ? text::format_change(std::expm1(*log)) : "";
}

std::string if_known(const std::optional<double>& value, fmt::format_string<const double&> format) {
  return value ? fmt::format(format, *value) : "";
}

// When its reports began.
std::string dates_text(const Group& group) {
  if (group.units.empty()) return "";
  const auto [first, last] = std::ranges::minmax(group.units, {}, &Unit::started_at);
  const std::string from = first.started_at.substr(0, 10);
  const std::string to = last.started_at.substr(0, 10);
  return from == to ? "reports of " + from : fmt::format("reports of {} to {}", from, to);
}

}  // namespace

std::optional<double> relative(const std::optional<double>& log) {
  return log ? std::optional(std::expm1(*log)) : std::nullopt;
}

std::string known(const std::string& text) {
  return text.empty() ? "unknown" : text;
}

double deviation_of(const Group& group, const GroupAnalysis& analysis, std::size_t unit,
                    std::size_t cell) {
  return std::log(group.units[unit].values[cell].time_s / analysis.cells[cell].median_s);
}

std::string facts_text(const Facts& facts) {
  std::vector<std::string> texts;
  for (const auto& [name, value] : facts) {
    if (name != "device") texts.push_back(fmt::format("{} {}", name, value));
  }
  return fmt::format("{}", fmt::join(texts, ", "));
}

std::string device_of(const Facts& facts) {
  for (const auto& [name, value] : facts) {
    if (name == "device") return value;
  }
  return "unknown device";
}

std::string rule_text(const Group& group, const GroupAnalysis& analysis) {
  if (group.units.size() < kFewestUnits) {
    return fmt::format("Fewer than {} units: a ranking, and no verdicts.", kFewestUnits);
  }
  return fmt::format(
      "A cell of a unit is slow when its time is more than {:.0f} % and {:.1f} robust standard "
      "deviations above the median of the units. A unit is SLOW when a fifth of its cells are, and "
      "it is above the median in more of them than chance explains.",
      100.0 * analysis.threshold, analysis.z_limit);
}

std::string count_text(const std::vector<GroupAnalysis>& analyses) {
  std::vector<std::string> texts;
  for (const UnitVerdict verdict : kWords<UnitVerdict>) {
    std::size_t count = 0;
    for (const GroupAnalysis& analysis : analyses) {
      for (const UnitSummary& unit : analysis.ranking) count += unit.verdict == verdict ? 1 : 0;
    }
    if (count > 0) {
      texts.push_back(verdict == UnitVerdict::kNone
                          ? fmt::format("{} without a verdict", count)
                          : fmt::format("{} {}", count, to_string(verdict)));
    }
  }
  return fmt::format("{}", fmt::join(texts, ", "));
}

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
                           text::format_count(std::ssize(group.units), "unit"),
                           text::format_count(std::ssize(group.cells), "cell")));
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

text::Document ranking_document(const JudgedFleet& judged) {
  text::Document document;
  document.title("nf4bench fleet: " + count_text(judged.analyses));
  for (std::size_t i = 0; i < judged.analyses.size(); ++i) {
    const Group& group = judged.fleet.groups[i];
    const GroupAnalysis& analysis = judged.analyses[i];
    document.paragraph(fmt::format("{}: {}, {}. {}, {}",
                                   text::fitted(device_of(group.facts), kLongestText),
                                   text::format_count(std::ssize(group.units), "unit"),
                                   text::format_count(std::ssize(group.cells), "cell"),
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

namespace {

// A gauge of each unit.
struct Gauge {
  const char* name;
  const char* help;
  std::function<std::optional<double>(const Unit&, const UnitSummary&)> value;
};

std::vector<Gauge> gauges() {
  return {
      {"nf4bench_unit_deviation_ratio", "How much longer a unit takes than the median of its group",
       [](const Unit&, const UnitSummary& each) -> std::optional<double> {
         return each.cells > 0 ? relative(each.deviation) : std::nullopt;
       }},
      {"nf4bench_unit_clock_deviation_ratio",
       "How much higher its clock is than the median of its group",
       [](const Unit&, const UnitSummary& each) { return relative(each.clock_deviation); }},
      {"nf4bench_unit_cells", "Cells that it and at least one other unit measured",
       [](const Unit&, const UnitSummary& each) { return static_cast<double>(each.cells); }},
      {"nf4bench_unit_slow_cells", "Cells of these in which it is slow",
       [](const Unit&, const UnitSummary& each) { return static_cast<double>(each.slow_cells); }},
      {"nf4bench_unit_missing_cells", "Cells that most units measured, and it did not",
       [](const Unit&, const UnitSummary& each) {
         return static_cast<double>(each.missing.size());
       }},
      {"nf4bench_unit_failed_measurements", "Measurements that were wrong or impossible",
       [](const Unit& unit, const UnitSummary&) { return static_cast<double>(unit.failed); }}};
}

std::string labels_of(const Group& group, const Unit& unit) {
  return fmt::format("unit=\"{}\",host=\"{}\",device=\"{}\"", text::in_label(unit.id),
                     text::in_label(unit.host), text::in_label(device_of(group.facts)));
}

}  // namespace

std::string ranking_metrics(const JudgedFleet& judged) {
  std::string text;
  const auto each_unit = [&](const auto& add) {
    for (std::size_t i = 0; i < judged.analyses.size(); ++i) {
      const Group& group = judged.fleet.groups[i];
      for (const UnitSummary& summary : judged.analyses[i].ranking) {
        add(group, group.units[summary.unit], summary);
      }
    }
  };
  for (const Gauge& gauge : gauges()) {
    text += fmt::format("# TYPE {0} gauge\n# HELP {0} {1}.\n", gauge.name, gauge.help);
    each_unit([&](const Group& group, const Unit& unit, const UnitSummary& summary) {
      const std::optional<double> value = gauge.value(unit, summary);
      if (value) text += fmt::format("{}{{{}}} {}\n", gauge.name, labels_of(group, unit), *value);
    });
  }
  text += "# TYPE nf4bench_unit_verdict gauge\n# HELP nf4bench_unit_verdict 1 for its verdict.\n";
  each_unit([&](const Group& group, const Unit& unit, const UnitSummary& summary) {
    text += fmt::format("nf4bench_unit_verdict{{{},verdict=\"{}\"}} 1\n", labels_of(group, unit),
                        to_string(summary.verdict));
  });
  text += fmt::format(
      "# TYPE nf4bench_fleet_left_out gauge\n# HELP nf4bench_fleet_left_out Reports, or names "
      "without one, that are no part of it.\nnf4bench_fleet_left_out{{why=\"refused\"}} {}\n"
      "nf4bench_fleet_left_out{{why=\"not read\"}} {}\n"
      "nf4bench_fleet_left_out{{why=\"missing\"}} {}\n",
      judged.fleet.refused.size(), judged.fleet.unread.size(), judged.fleet.missing.size());
  return text + "# EOF\n";
}

}  // namespace nf4bench::fleet
