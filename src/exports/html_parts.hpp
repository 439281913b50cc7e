#pragma once

// The parts of a report's page, shared by its source files.

#include "exports/html_kit.hpp"
#include "exports/rows.hpp"

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace nf4bench::exports {

// The rows of one geometry, type, cache and launch mode.
struct PageCell {
  std::string title;  // escaped
  std::vector<std::size_t> rows;
};

// What all sections draw from.
struct Page {
  const record::Report& report;
  std::vector<ExportRow> rows;
  std::vector<PageCell> cells;
  std::vector<std::string> variants;  // the baseline, then the fastest first; decides the colours

  // Whether any row is about tokens.
  bool has_tokens() const;

  // The class of a variant's colour: "s0" to "s11", and "s12" for all that come after.
  std::string colour_of(const std::string& variant) const;
};

Page page_of(const record::Report& report);

// What charts of lines have in common: drawings of this height.
constexpr double kChartHeight = 400.0;

// A place in such a drawing, from left to right and from top to bottom, 0 to 1.
struct ChartPoint {
  double share = 0.0;
  double depth = 0.0;
  std::size_t row = 0;  // it leads to
  std::string note{};   // of its row
};
using ChartPoints = std::vector<ChartPoint>;

// A line through `points`.
std::string chart_path(const ChartPoints& points, const std::string& style);

// The line of each variant, with a mark for each of its points.
std::string variant_lines(const Page& page, std::map<std::string, ChartPoints> lines);

// A word beside a drawing.
struct SideWord {
  double depth = 0.0;
  std::string text;
};

struct ChartParts {
  std::string caption;  // escaped
  std::vector<SideWord> left;
  std::vector<SideWord> right;
  std::string marks;  // in the drawing
  std::vector<AxisLabel> labels;
};
std::string chart_figure(const ChartParts& chart);

// Which colour is which variant, and if need be what the dotted line is.
std::string legend_of(const Page& page, bool has_stream);

// A row of the report as one line of a chart: its variant, what is drawn, and a note. It leads to
// the table of measurements.
std::string chart_line(const Page& page, std::size_t row, const std::string& drawn,
                       const std::string& note);

std::string speedup_section(const Page& page);
std::string bandwidth_section(const Page& page);
std::string tokens_section(const Page& page);
std::string samples_section(const Page& page);
std::string totals_section(const Page& page);
std::string environment_section(const Page& page);
std::string method_section(const Page& page);
std::string rows_section(const Page& page);

}  // namespace nf4bench::exports
