#include "exports/export.hpp"
#include "exports/rows.hpp"
#include "record/leaves.hpp"
#include "record/samples.hpp"
#include "report/ranking.hpp"
#include "text/printers.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>
#include <utility>

namespace nf4bench::exports {
namespace {

struct Column {
  const char* name;
  const char* field;  // of a measurement, or one that follows from it: see add_context()
};

// The first columns, in an order that stays. Behind them stands every other field of a measurement,
// by its path: "energy_joules".
constexpr Column kFirst[] = {
    {"tensor", "tensor"},
    {"tensor_name", "=tensor_name"},
    {"shape", "=shape"},
    {"elements", "=elements"},
    {"blocksize", "=blocksize"},
    {"absmax", "=absmax"},
    {"multiplicity", "=multiplicity"},
    {"operation", "operation"},
    {"variant", "variant"},
    {"device", "device"},
    {"output_dtype", "output_dtype"},
    {"tokens", "tokens"},
    {"cache", "cache"},
    {"launch", "launch"},
    {"status", "status"},
    {"reason", "reason"},
    {"samples", "=samples"},
    {"median_s", "time_s.median"},
    {"ci95_low_s", "time_s.ci95.low"},
    {"ci95_high_s", "time_s.ci95.high"},
    {"mean_s", "time_s.mean"},
    {"min_s", "time_s.min"},
    {"p05_s", "time_s.p05"},
    {"p95_s", "time_s.p95"},
    {"mad_s", "time_s.mad"},
    {"launches_per_sample", "launches_per_sample"},
    {"stopped_by", "stopped_by"},
    {"sm_clock_mean_hz", "=sm_clock_mean_hz"},
    {"bytes_read", "bytes.read"},
    {"bytes_written", "bytes.written"},
    {"bytes_per_s", "bytes_per_s"},
    {"flops", "flops"},
    {"flops_per_s", "flops_per_s"},
    {"fraction_of_roof", "fraction_of_roof"},
    {"roof_limit", "roof_limit"},
    {"fraction_of_copy", "fraction_of_copy"},
    {"fraction_of_stream", "fraction_of_stream"},
    {"baseline", "speedup.baseline"},
    {"speedup", "speedup.ratio"},
    {"speedup_ci95_low", "speedup.ci95.low"},
    {"speedup_ci95_high", "speedup.ci95.high"},
    {"stream_bytes_per_s", "=stream_bytes_per_s"},
    {"copy_bytes_per_s", "=copy_bytes_per_s"},
    {"others_processors", "load.others"},
    {"doubt", "=doubt"},
    {"device_name", "=device_name"},
    {"started_at", "=started_at"},
};

// Field and text, in the order of the report.
using Cells = std::vector<std::pair<std::string, std::string>>;

struct InCsv {
  std::string operator()(std::monostate /*nothing*/) const { return ""; }
  std::string operator()(bool value) const { return value ? "true" : "false"; }
  std::string operator()(double value) const { return number_text(value); }
  std::string operator()(const std::string& value) const { return text::in_csv(value); }
  template <class Integer>
  std::string operator()(Integer value) const {
    return fmt::format("{}", value);
  }
};

void add_tensor(Cells& cells, const ExportRow& row) {
  record::ReportTensor unknown;
  unknown.geometry = {.shape = {0}, .blocksize = 0};  // nothing that could be taken for a size
  const record::ReportTensor& tensor = row.tensor != nullptr ? *row.tensor : unknown;
  const std::string shape =
      row.tensor != nullptr ? nf4::shape_to_string(tensor.geometry.shape) : "";
  cells.emplace_back("=tensor_name", text::in_csv(tensor.name));
  cells.emplace_back("=shape", text::in_csv(shape));
  cells.emplace_back("=elements", fmt::format("{}", tensor.geometry.elements()));
  cells.emplace_back("=blocksize", fmt::format("{}", tensor.geometry.blocksize));
  cells.emplace_back("=absmax", to_string(tensor.geometry.absmax_kind));
  cells.emplace_back("=multiplicity", fmt::format("{}", tensor.multiplicity));
}

// What the columns show besides the fields of the measurement.
void add_context(Cells& cells, const ExportRow& row, const record::Report& report) {
  const record::Measurement& m = *row.measurement;
  add_tensor(cells, row);
  cells.emplace_back("=samples", fmt::format("{}", record::sample_count(m)));
  cells.emplace_back("=sm_clock_mean_hz", number_text(record::mean_clock_hz(m)));
  cells.emplace_back("=stream_bytes_per_s",
                     row.stream != nullptr ? number_text(row.stream->bytes_per_s) : "");
  cells.emplace_back("=copy_bytes_per_s", number_text(report.ceilings.copy_bytes_per_s));
  cells.emplace_back("=doubt", text::in_csv(report::doubt_of(m)));
  cells.emplace_back("=device_name", text::in_csv(report.device.name));
  cells.emplace_back("=started_at", text::in_csv(report.started_at));
}

Cells cells_of(const ExportRow& row, const record::Report& report) {
  Cells cells;
  record::each_leaf(*row.measurement, [&](const std::string& path, const record::Leaf& leaf) {
    cells.emplace_back(path, std::visit(InCsv(), leaf));
  });
  add_context(cells, row, report);
  return cells;
}

// Which of the cells of any row stands in which column.
struct Layout {
  std::vector<std::string> names;
  std::vector<std::size_t> places;
};

Layout layout_of(const Cells& cells) {
  Layout layout;
  for (const Column& column : kFirst) {
    const auto cell = std::ranges::find(cells, column.field, &Cells::value_type::first);
    layout.names.emplace_back(column.name);
    layout.places.push_back(static_cast<std::size_t>(cell - cells.begin()));
  }
  for (std::size_t place = 0; place < cells.size(); ++place) {
    if (std::ranges::find(layout.places, place) != layout.places.end()) continue;
    std::string name = cells[place].first;
    std::ranges::replace(name, '.', '_');
    layout.names.push_back(std::move(name));
    layout.places.push_back(place);
  }
  return layout;
}

}  // namespace

void to_csv(const record::Report& report, const json::TextSink& sink) {
  const record::Measurement nothing;
  const Layout layout = layout_of(cells_of({&nothing, nullptr, nullptr, false, ""}, report));
  sink(fmt::format("{}\r\n", fmt::join(layout.names, ",")));
  for (const ExportRow& row : export_rows(report)) {
    const Cells cells = cells_of(row, report);
    std::vector<std::string_view> values;
    values.reserve(layout.places.size());
    for (const std::size_t place : layout.places) values.emplace_back(cells[place].second);
    sink(fmt::format("{}\r\n", fmt::join(values, ",")));
  }
}

}  // namespace nf4bench::exports
