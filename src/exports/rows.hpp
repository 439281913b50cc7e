#pragma once

// What the formats share.

#include "report/report.hpp"

#include <optional>
#include <string>
#include <vector>

namespace nf4bench::exports {

inline constexpr double kNanoseconds = 1e9;  // a second
inline constexpr int kLongestText = 120;     // characters of a name in a table

// A measurement with the tensor it is about.
struct ExportRow {
  const record::Measurement* measurement = nullptr;
  const record::ReportTensor* tensor = nullptr;  // null when the report does not describe it
  const record::StreamCeiling* stream = nullptr;
  bool is_timed = false;  // passed, and the median is a positive number

  // "dequantize/fused/4096x14336/block:64/nested/bfloat16/cold/graph": no two rows have the same.
  // With tokens "matmul/simd/4096x14336/block:64/nested/bfloat16/tokens:8/cold/graph".
  std::string name;
};

// All measurements, in the order of the report.
std::vector<ExportRow> export_rows(const record::Report& report);

// The shape, or the tensor's id where the report does not describe it.
std::string shape_name(const ExportRow& row);

// The shortest decimal that reads back as `value`; empty when it is not finite.
std::string number_text(double value);
std::string number_text(const std::optional<double>& value);

// The samples' standard deviation; none with fewer than two.
std::optional<double> standard_deviation(const std::vector<double>& samples);

}  // namespace nf4bench::exports
