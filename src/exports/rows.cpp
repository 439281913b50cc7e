#include "exports/rows.hpp"

#include "json/json_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace nf4bench::exports {
namespace {

bool is_timed(const record::Measurement& m) {
  return m.status == record::Status::kPassed && m.time_s && std::isfinite(m.time_s->median) &&
         m.time_s->median > 0.0;
}

std::string name_of(const ExportRow& row) {
  const record::Measurement& m = *row.measurement;
  std::string text = shape_name(row);
  if (row.tensor != nullptr) {
    const record::Geometry& geometry = row.tensor->geometry;
    if (geometry.stack) {
      std::string stack = describe(*geometry.stack);
      std::ranges::replace(stack, ' ', ':');
      text += '/' + stack;
    }
    text += fmt::format("/block:{}/{}", geometry.blocksize, to_string(geometry.absmax_kind));
  }
  const std::string tokens =
      m.cell.tokens > 0 ? fmt::format("/tokens:{}", m.cell.tokens) : std::string();
  return fmt::format("{}/{}/{}/{}{}/{}/{}", m.cell.operation, m.variant, text,
                     to_string(m.cell.output_type), tokens, to_string(m.cell.cache),
                     to_string(m.cell.launch));
}

// Tensors of one geometry, as --all-tensors times them, differ in nothing but their ids.
void tell_apart(std::vector<ExportRow>& rows) {
  std::map<std::string, int> uses;
  for (const ExportRow& row : rows) ++uses[row.name];
  std::map<std::string, int> repeats;
  for (ExportRow& row : rows) {
    if (uses[row.name] == 1) continue;
    row.name += '/' + row.measurement->cell.tensor;
    const int repeat = ++repeats[row.name];
    if (repeat > 1) row.name += fmt::format("#{}", repeat);
  }
}

}  // namespace

std::vector<ExportRow> export_rows(const record::Report& report) {
  std::map<std::string_view, const record::ReportTensor*> tensors;
  for (const record::ReportTensor& tensor : report.tensors) tensors.try_emplace(tensor.id, &tensor);
  std::map<record::Cell, const record::StreamCeiling*> streams;
  for (const record::StreamCeiling& stream : report.stream_ceilings) {
    streams.try_emplace(stream.cell, &stream);
  }
  std::vector<ExportRow> rows;
  rows.reserve(report.measurements.size());
  for (const record::Measurement& m : report.measurements) {
    const auto tensor = tensors.find(m.cell.tensor);
    const auto stream = streams.find(m.cell);
    ExportRow row{&m, tensor == tensors.end() ? nullptr : tensor->second,
                  stream == streams.end() ? nullptr : stream->second, is_timed(m), ""};
    row.name = name_of(row);
    rows.push_back(std::move(row));
  }
  tell_apart(rows);
  return rows;
}

std::string shape_name(const ExportRow& row) {
  return row.tensor != nullptr ? nf4::shape_to_string(row.tensor->geometry.shape)
                               : row.measurement->cell.tensor;
}

std::string number_text(double value) {
  return std::isfinite(value) ? json::json_number(value).text : std::string();
}

std::string number_text(const std::optional<double>& value) {
  return value ? number_text(*value) : std::string();
}

std::optional<double> standard_deviation(const std::vector<double>& samples) {
  if (samples.size() < 2) return std::nullopt;
  const auto count = static_cast<double>(samples.size());
  double mean = 0.0;
  for (const double sample : samples) mean += sample / count;
  double squares = 0.0;
  for (const double sample : samples) squares += (sample - mean) * (sample - mean);
  return std::sqrt(squares / (count - 1.0));
}

}  // namespace nf4bench::exports
