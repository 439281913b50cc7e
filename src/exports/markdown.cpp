#include "exports/export.hpp"
#include "exports/rows.hpp"
#include "report/ranking.hpp"
#include "report/table/parts.hpp"
#include "text/printers.hpp"
#include "text/units.hpp"

#include <fmt/format.h>

namespace nf4bench::exports {
namespace {

constexpr int kLongestText = 120;

std::string plain(const std::string& text) {
  return text::in_markdown(text, kLongestText);
}

std::string heading_of(const ExportRow& row) {
  const record::Measurement& m = *row.measurement;
  std::string text =
      fmt::format("\n#### {}{} ", plain(report::operation_prefix(m.cell)), plain(shape_name(row)));
  if (row.tensor != nullptr) {
    text += fmt::format("block {} {}, x{}, ", row.tensor->geometry.blocksize,
                        to_string(row.tensor->geometry.absmax_kind), row.tensor->multiplicity);
  }
  const std::string tokens =
      m.cell.tokens > 0 ? text::format_count(m.cell.tokens, "token") + ' ' : std::string();
  return text +
         fmt::format("{} {}{} {}\n\n", to_string(m.cell.output_type), tokens,
                     to_string(m.cell.cache), to_string(m.cell.launch)) +
         "| variant | median | +/- % | GB/s | % copy | speedup | 95 % interval |\n"
         "| --- | ---: | ---: | ---: | ---: | ---: | --- |\n";
}

std::string timed_line(const record::Measurement& m) {
  const statistics::Summary& time = *m.time_s;
  const std::optional<double> half_width = statistics::relative_half_width(time);
  const std::string doubt = report::doubt_of(m);
  return fmt::format("| {}{} | {} | {} | {} | {} | {} | {} |\n", plain(m.variant),
                     doubt.empty() ? "" : fmt::format(" ({})", doubt),
                     text::format_time(time.median, text::time_scale({time.median})),
                     half_width ? fmt::format("{:.2f}", 100.0 * *half_width) : "",
                     m.bytes_per_s ? text::format_gigabytes(*m.bytes_per_s) : "",
                     m.fraction_of_copy ? text::format_percent(*m.fraction_of_copy) : "",
                     m.speedup ? text::format_ratio(m.speedup->ratio) : "",
                     m.speedup ? report::speedup_interval_text(*m.speedup, m.variant) : "");
}

std::string line_of(const ExportRow& row) {
  const record::Measurement& m = *row.measurement;
  if (row.is_timed) return timed_line(m);
  return fmt::format("| {} | {}: {} | | | | | |\n", plain(m.variant), to_string(m.status),
                     plain(m.reason));
}

std::string totals_of(const record::Report& report) {
  std::string text =
      "\n#### All geometries\n\n"
      "| variant | cell | cells | speedup (geometric mean) | least | most | whole model | speedup "
      "|\n| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |\n";
  const auto ratio = [](const std::optional<double>& value) {
    return value ? text::format_ratio(*value) : std::string();
  };
  for (const record::VariantSummary& each : report::summarize_variants(report)) {
    const std::string time =
        each.model_time_s
            ? text::format_time(*each.model_time_s, text::time_scale({*each.model_time_s}))
            : "";
    text += fmt::format("| {} | {} | {} | {} | {} | {} | {} | {} |\n", plain(each.variant),
                        report::cell_name(each.cell), each.cells, ratio(each.speedup_geomean),
                        ratio(each.speedup_min), ratio(each.speedup_max), time,
                        ratio(each.model_speedup));
  }
  return text;
}

}  // namespace

void to_markdown(const record::Report& report, const json::TextSink& sink) {
  std::string text = fmt::format("### nf4bench: {}{}\n\nbaseline {}, {}, nf4bench {}\n",
                                 plain(report.device.name), report.complete ? "" : " (incomplete)",
                                 plain(report::baselines_of(report.settings)),
                                 plain(report.started_at), plain(report.tool.version));
  const std::vector<ExportRow> rows = export_rows(report);
  const ExportRow* last = nullptr;
  for (const ExportRow& row : rows) {
    if (last == nullptr || last->measurement->cell != row.measurement->cell)
      text += heading_of(row);
    text += line_of(row);
    last = &row;
  }
  if (!rows.empty()) text += totals_of(report);
  for (const std::string& warning : report.warnings) text += "\n> " + plain(warning) + '\n';
  sink(text);
}

}  // namespace nf4bench::exports
