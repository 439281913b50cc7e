#pragma once

#include "record/report.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace nf4bench::report {

// Computes the summary section of `report`.
std::vector<record::VariantSummary> summarize_variants(const record::Report& report);

// The JSON text, ending in a newline. Never holds NaN or Infinity.
std::string to_json(const record::Report& report);

// A larger file is no report.
inline constexpr std::uint64_t kMostReportBytes = std::uint64_t{1} << 30;

// Reads what to_json() wrote (any minor version of the same major), kMostReportBytes at most.
// Throws Error(kInput).
record::Report report_from_json(std::string text, const std::string& source);

// A report and the file it came from.
struct NamedReport {
  std::string name;
  record::Report report;
};

// Reads the report in the regular file at `path`, see read_input(). Throws Error(kInput).
NamedReport read_report(const std::string& path);

std::vector<NamedReport> read_reports(const std::vector<std::string>& paths);

// `report` without what tells whose machine it is of: the host's name, the folders of files, the
// address of the GPU. Of its UUID a hash is left, which tells boards apart.
record::Report anonymous(record::Report report);

// A cell in words, without its tensor: "bfloat16 cold graph", "matmul bfloat16 8 tokens hot graph".
std::string cell_words(const record::Cell& cell);

// The same for titles, where dequantize goes without saying: "bf16  cold graph", "matmul  bf16  8
// tokens  cold graph".
std::string cell_name(const record::Cell& cell);

// "matmul  " for an operation that has to be named.
std::string operation_prefix(const record::Cell& cell);

// "bf16", "fp16", "fp32"
const char* short_name(nf4::OutputType type);

// The variants that speedups refer to: "multi_kernel", of several operations "dequantize
// multi_kernel, matmul chain_cublas".
std::string baselines_of(const record::Settings& settings);

}  // namespace nf4bench::report
