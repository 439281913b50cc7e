#include "exports/html_parts.hpp"
#include "record/sample_digest.hpp"
#include "report/ranking.hpp"
#include "report/table/parts.hpp"
#include "text/units.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace nf4bench::exports {
namespace {

std::string ratio_text(const std::optional<double>& ratio) {
  return ratio ? text::format_ratio(*ratio) : std::string();
}

std::string time_text(double time_s) {
  return text::format_time(time_s, text::time_scale({time_s}));
}

std::string number_cell(const std::string& text) {
  return "<td class=\"number\">" + text + "</td>";
}

std::string totals_row(const Page& page, const record::VariantSummary& each, double longest_s) {
  std::string bar;
  if (each.model_time_s && longest_s > 0.0) {
    constexpr double kHeight = 12.0;
    const double width = kDrawingWidth * *each.model_time_s / longest_s;
    bar = drawing(kHeight, bar_of({.x = 0.0, .y = 0.0, .width = width, .height = kHeight},
                                  page.colour_of(each.variant)));
  }
  return fmt::format("<tr><td>{}</td><td>{}</td>", html_text(each.variant),
                     report::cell_name(each.cell)) +
         number_cell(fmt::format("{}", each.cells)) +
         number_cell(ratio_text(each.speedup_geomean)) + number_cell(ratio_text(each.speedup_min)) +
         number_cell(ratio_text(each.speedup_max)) +
         number_cell(each.model_time_s ? time_text(*each.model_time_s) : "") +
         number_cell(each.model_energy_j ? text::format_energy(*each.model_energy_j) : "") +
         number_cell(each.tokens_per_s ? fmt::format("{:.0f}", *each.tokens_per_s) : "") +
         number_cell(ratio_text(each.model_speedup)) + "<td class=\"bars\">" + bar + "</td></tr>\n";
}

std::string roof_text(const record::Roof& roof) {
  return fmt::format("{} ({})", text::format_percent(roof.fraction), to_string(roof.limit));
}

std::string accuracy_text(const record::Accuracy& accuracy) {
  return fmt::format("{:.1e} ({})", accuracy.rms_error, to_string(accuracy.weights));
}

std::string energy_text(const record::Measurement& m) {
  if (!m.energy) return "";
  return m.energy->joules ? text::format_energy(*m.energy->joules)
                          : "unknown: " + html_text(m.energy->unavailable);
}

std::string timed_cells(const record::Measurement& m) {
  const bool has_accuracy = m.verification && m.verification->accuracy;
  const std::optional<double> half_width = statistics::relative_half_width(*m.time_s);
  return number_cell(time_text(m.time_s->median)) +
         number_cell(half_width ? fmt::format("{:.2f}", 100.0 * *half_width) : "") +
         number_cell(time_text(m.time_s->p95)) + number_cell(energy_text(m)) +
         number_cell(m.bytes_per_s ? text::format_gigabytes(*m.bytes_per_s) : "") +
         number_cell(m.flops_per_s ? text::format_tera(*m.flops_per_s) : "") +
         number_cell(m.fraction_of_copy ? text::format_percent(*m.fraction_of_copy) : "") +
         number_cell(m.roof ? roof_text(*m.roof) : "") +
         number_cell(m.fraction_of_stream ? text::format_percent(*m.fraction_of_stream) : "") +
         number_cell(has_accuracy ? accuracy_text(*m.verification->accuracy) : "") +
         number_cell(m.speedup ? text::format_ratio(m.speedup->ratio) : "") +
         number_cell(m.speedup ? report::speedup_interval_text(*m.speedup, m.variant) : "") +
         number_cell(fmt::format("{}", record::sample_count(m)));
}

std::string row_of(const Page& page, std::size_t index) {
  const ExportRow& row = page.rows[index];
  const record::Measurement& m = *row.measurement;
  const std::string doubt = report::doubt_of(m);
  std::string text = fmt::format(
      "<tr id=\"{}\"><td>{}</td><td>{}</td><td>{}</td><td class=\"{}\">{}</td>", anchor_of(index),
      html_text(m.variant), html_text(shape_name(row)), report::cell_name(m.cell),
      m.status == record::Status::kPassed && doubt.empty() ? "good" : "bad",
      doubt.empty() ? to_string(m.status) : doubt);
  text += row.is_timed
              ? timed_cells(m)
              : fmt::format("<td class=\"reason\" colspan=\"13\">{}</td>", html_text(m.reason));
  return text + "</tr>\n";
}

}  // namespace

std::string totals_section(const Page& page) {
  const std::vector<record::VariantSummary> all = report::summarize_variants(page.report);
  double longest_s = 0.0;
  for (const record::VariantSummary& each : all)
    longest_s = std::max(longest_s, each.model_time_s.value_or(0.0));
  std::string text =
      "<section id=\"totals\"><h2>Whole model</h2><p>Each median times the number of tensors of "
      "its "
      "geometry, summed; no total where a geometry has no time.</p>\n<div class=\"wide\"><table>"
      "<thead><tr><th>variant</th><th>cell</th><th>cells</th><th>speedup, geometric mean</th>"
      "<th>least</th><th>most</th><th>model time</th><th>model energy</th><th>tokens/s at most</th>"
      "<th>model speedup</th><th></th></tr></thead>"
      "<tbody>\n";
  for (const record::VariantSummary& each : all) text += totals_row(page, each, longest_s);
  return text + "</tbody></table></div></section>\n";
}

std::string rows_section(const Page& page) {
  std::string text =
      "<section id=\"rows\"><h2>Measurements</h2><div class=\"wide\"><table><thead><tr>"
      "<th>variant</th><th>shape</th><th>cell</th><th>status</th><th>median</th><th>+/- %</th>"
      "<th>p95</th><th>energy</th><th>GB/s</th><th>TFLOP/s</th><th>% copy</th><th>% roof</th><th>% "
      "stream</th>"
      "<th>rms error</th><th>speedup</th>"
      "<th>95 % interval</th><th>samples</th></tr></thead><tbody>\n";
  for (std::size_t i = 0; i < page.rows.size(); ++i) text += row_of(page, i);
  return text + "</tbody></table></div></section>\n";
}

}  // namespace nf4bench::exports
