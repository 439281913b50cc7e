#include "fleet/ranking_text.hpp"

#include <fmt/format.h>

#include <functional>

namespace nf4bench::fleet {
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

// Between the quotes of a label.
std::string label(const std::string& text) {
  std::string safe;
  for (const char each : text) {
    if (each == '\\' || each == '"') safe += '\\';
    safe += each == '\n' ? ' ' : each;
  }
  return safe;
}

std::string labels_of(const Group& group, const Unit& unit) {
  return fmt::format("unit=\"{}\",host=\"{}\",device=\"{}\"", label(unit.id), label(unit.host),
                     label(device_of(group.facts)));
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
