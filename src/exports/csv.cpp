#include "exports/export.hpp"
#include "exports/rows.hpp"
#include "record/sample_digest.hpp"
#include "report/ranking.hpp"
#include "text/printers.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string_view>
#include <utility>

namespace nf4bench::exports {
namespace {

// A line in the making: names and values stand side by side, so that they cannot get out of step.
class Line {
 public:
  void text(const char* name, const std::string& value) {
    add(name, nf4bench::text::in_csv(value));
  }
  void number(const char* name, const std::optional<double>& value) {
    add(name, number_text(value));
  }
  void count(const char* name, std::int64_t value) { add(name, fmt::format("{}", value)); }

  std::string names() const { return fmt::format("{}\r\n", fmt::join(names_, ",")); }
  std::string values() const { return fmt::format("{}\r\n", fmt::join(values_, ",")); }

 private:
  void add(const char* name, std::string value) {
    names_.emplace_back(name);
    values_.push_back(std::move(value));
  }

  std::vector<const char*> names_;
  std::vector<std::string> values_;
};

void add_cell(Line& line, const ExportRow& row) {
  const record::Measurement& m = *row.measurement;
  record::ReportTensor unknown;
  unknown.geometry = {.shape = {0}, .blocksize = 0};  // nothing that could be taken for a size
  const record::ReportTensor& tensor = row.tensor != nullptr ? *row.tensor : unknown;
  line.text("tensor", m.cell.tensor);
  line.text("tensor_name", tensor.name);
  line.text("shape", row.tensor != nullptr ? nf4::shape_to_string(tensor.geometry.shape) : "");
  line.count("elements", tensor.geometry.elements());
  line.count("blocksize", tensor.geometry.blocksize);
  line.text("absmax", to_string(tensor.geometry.absmax_kind));
  line.count("multiplicity", tensor.multiplicity);
  line.text("operation", m.cell.operation);
  line.text("variant", m.variant);
  line.text("device", m.cell.device);
  line.text("output_dtype", to_string(m.cell.output_type));
  line.number("tokens",
              m.cell.tokens > 0 ? std::optional(static_cast<double>(m.cell.tokens)) : std::nullopt);
  line.text("cache", to_string(m.cell.cache));
  line.text("launch", to_string(m.cell.launch));
  line.text("status", to_string(m.status));
  line.text("reason", m.reason);
}

struct EndNames {
  const char* low;
  const char* high;
};

void add_interval(Line& line, const EndNames& names,
                  const std::optional<statistics::Interval>& interval) {
  line.number(names.low, interval ? std::optional(interval->low) : std::nullopt);
  line.number(names.high, interval ? std::optional(interval->high) : std::nullopt);
}

void add_time(Line& line, const record::Measurement& m) {
  const auto time = [&](double statistics::Summary::*part) {
    return m.time_s ? std::optional((*m.time_s).*part) : std::nullopt;
  };
  line.count("samples", record::sample_count(m));
  line.number("median_s", time(&statistics::Summary::median));
  add_interval(line, {"ci95_low_s", "ci95_high_s"}, m.time_s ? m.time_s->ci95 : std::nullopt);
  line.number("mean_s", time(&statistics::Summary::mean));
  line.number("min_s", time(&statistics::Summary::min));
  line.number("p05_s", time(&statistics::Summary::p05));
  line.number("p95_s", time(&statistics::Summary::p95));
  line.number("mad_s", time(&statistics::Summary::mad));
  line.count("launches_per_sample", m.launches_per_sample);
  line.text("stopped_by", m.stopped_by ? to_string(*m.stopped_by) : "");
  line.number("sm_clock_mean_hz", record::mean_clock_hz(m));
}

void add_rates(Line& line, const ExportRow& row, const record::Report& report) {
  const record::Measurement& m = *row.measurement;
  line.count("bytes_read", m.bytes_read);
  line.count("bytes_written", m.bytes_written);
  line.number("bytes_per_s", m.bytes_per_s);
  line.number("flops", m.flops > 0.0 ? std::optional(m.flops) : std::nullopt);
  line.number("flops_per_s", m.flops_per_s);
  line.number("fraction_of_roof", m.roof ? std::optional(m.roof->fraction) : std::nullopt);
  line.text("roof_limit", m.roof ? to_string(m.roof->limit) : "");
  line.number("fraction_of_copy", m.fraction_of_copy);
  line.number("fraction_of_stream", m.fraction_of_stream);
  line.text("baseline", m.speedup ? m.speedup->baseline : "");
  line.number("speedup", m.speedup ? std::optional(m.speedup->ratio) : std::nullopt);
  add_interval(line, {"speedup_ci95_low", "speedup_ci95_high"},
               m.speedup ? m.speedup->ci95 : std::nullopt);
  line.number("stream_bytes_per_s",
              row.stream != nullptr ? std::optional(row.stream->bytes_per_s) : std::nullopt);
  line.number("copy_bytes_per_s", report.ceilings.copy_bytes_per_s);
  line.number("others_processors", m.load ? std::optional(m.load->others) : std::nullopt);
  line.text("doubt", report::doubt_of(m));
  line.text("device_name", report.device.name);
  line.text("started_at", report.started_at);
}

Line line_of(const ExportRow& row, const record::Report& report) {
  Line line;
  add_cell(line, row);
  add_time(line, *row.measurement);
  add_rates(line, row, report);
  return line;
}

}  // namespace

void to_csv(const record::Report& report, const json::TextSink& sink) {
  const record::Measurement nothing;
  sink(line_of({&nothing, nullptr, nullptr, false, ""}, report).names());
  for (const ExportRow& row : export_rows(report)) sink(line_of(row, report).values());
}

}  // namespace nf4bench::exports
