#include "compare/result_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace nf4bench::compare {
namespace {

using text::Value;
using Column = text::ColumnOf<ComparedCell>;

text::Tone tone_of(CellVerdict verdict) {
  switch (verdict) {
    case CellVerdict::kInvalid:
    case CellVerdict::kMissing:
    case CellVerdict::kSlower:
      return text::Tone::kBad;
    case CellVerdict::kUnsure:
      return text::Tone::kDoubt;
    case CellVerdict::kFaster:
      return text::Tone::kGood;
    case CellVerdict::kSame:
      return text::Tone::kPlain;
  }
  return text::Tone::kPlain;
}

template <typename Function>
auto of_base(Function function) {
  return [function](const ComparedCell& each) {
    return each.base ? Value(function(*each.base)) : Value();
  };
}

template <typename Function>
auto of_new(Function function) {
  return [function](const ComparedCell& each) {
    return each.fresh ? Value(function(*each.fresh)) : Value();
  };
}

double value_of_side(const SideValue& side) {
  return side.value;
}

std::string verdict_of(const ComparedCell& cell) {
  return to_string(cell.ruling.verdict);
}

Column base_column(Metric metric) {
  return {{.name = "base", .unit = unit_of(metric), .rank = 1, .key = "base.value"},
          of_base(value_of_side)};
}

Column new_column(Metric metric) {
  return {{.name = "new", .unit = unit_of(metric), .key = "new.value"}, of_new(value_of_side)};
}

Column change_column(Metric metric) {
  return {{.name = "change", .unit = text::Unit::kChange, .key = "change.relative"},
          [metric](const ComparedCell& each) {
            return each.change ? Value(shown_change(each.change->log_ratio, metric)) : Value();
          }};
}

Column interval_column(Metric metric) {
  return {
      {.name = "99 % interval", .unit = text::Unit::kChange, .rank = 2, .key = "change.interval"},
      [metric](const ComparedCell& each) -> Value {
        if (!each.change) return {};
        const double center = is_cost(metric) ? each.change->log_ratio : -each.change->log_ratio;
        return statistics::Interval{std::expm1(center - each.change->half_width),
                                    std::expm1(center + each.change->half_width)};
      }};
}

// Narrow terminals lose the runs first, then the interval, then the old value.
text::Columns<ComparedCell> columns(Metric metric) {
  const auto runs = [](const SideValue& side) { return side.runs; };
  const auto samples = [](const SideValue& side) { return side.samples; };
  text::Columns<ComparedCell> all = key_columns_of<ComparedCell>();
  const text::Columns<ComparedCell> more = {
      {{.key = "verdict"}, verdict_of},
      {{.key = "reason"},
       [](const ComparedCell& each) { return text::if_said(each.ruling.reason); }},
      base_column(metric),
      {{.key = "base.runs"}, of_base(runs)},
      {{.key = "base.samples"}, of_base(samples)},
      new_column(metric),
      {{.key = "new.runs"}, of_new(runs)},
      {{.key = "new.samples"}, of_new(samples)},
      change_column(metric),
      interval_column(metric),
      {{.key = "change.runs_agree"},
       [](const ComparedCell& each) {
         return each.change ? Value(each.change->runs_agree) : Value();
       }},
      {{.name = "runs", .rank = 3},
       [](const ComparedCell& each) {
         return fmt::format("{}:{}", each.base ? each.base->runs : 0,
                            each.fresh ? each.fresh->runs : 0);
       }},
      {{.name = "verdict"}, verdict_of}};
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

text::Row judged_row(const text::Columns<ComparedCell>& columns, const ComparedCell& cell) {
  text::Row row = text::row_of(columns, cell);
  row.tone = tone_of(cell.ruling.verdict);
  row.why = cell.ruling.reason;
  return row;
}

}  // namespace

text::Sheet cells_sheet(const ComparisonResult& result) {
  const text::Columns<ComparedCell> shown = columns(result.metric);
  text::Sheet sheet = text::empty_sheet(shown);
  CellKey last;
  for (const ComparedCell& cell : result.cells) {
    CellKey block = cell.key;
    block.variant.clear();
    if (sheet.sections.empty() || block != last) {
      sheet.sections.push_back({.title = block_text(block)});
      last = std::move(block);
    }
    sheet.sections.back().rows.push_back(judged_row(shown, cell));
  }
  return sheet;
}

text::Sheet news_sheet(const ComparisonResult& result, std::size_t most) {
  const text::Columns<ComparedCell> shown = {
      {{.name = "verdict"}, verdict_of},
      {{.name = "variant"}, [](const ComparedCell& each) { return each.key.variant; }},
      {{.name = "cell"}, [](const ComparedCell& each) { return block_text(each.key); }},
      base_column(result.metric),
      new_column(result.metric),
      change_column(result.metric),
      interval_column(result.metric)};
  std::vector<const ComparedCell*> news;
  for (const ComparedCell& cell : result.cells) {
    if (cell.ruling.verdict != CellVerdict::kSame) news.push_back(&cell);
  }
  std::ranges::stable_sort(news, {}, [](const ComparedCell* cell) { return cell->ruling.verdict; });
  text::Sheet sheet = text::empty_sheet(shown);
  text::Section& section = sheet.sections.emplace_back();
  for (std::size_t i = 0; i < std::min(news.size(), most); ++i) {
    section.rows.push_back(judged_row(shown, *news[i]));
  }
  return sheet;
}

}  // namespace nf4bench::compare
