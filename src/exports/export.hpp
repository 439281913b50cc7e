#pragma once

#include "json/json_stream.hpp"
#include "report/report.hpp"

#include <cstdint>
#include <string_view>
#include <vector>

namespace nf4bench::exports {

// A report in the words of other tools. Each function hands the text of a file to `sink` piece by
// piece, because it may be many times as long as the report. Numbers are
// the shortest decimals that read back as the same double; none is ever NaN or Infinity. Where a
// tool would take any number for a measurement, rows without a time are left out; each format says
// how it names them.

// RFC 4180: a line for each measurement, times in seconds, empty fields for what is not known. No
// text of the report does harm where the file is shown or opened: it is made printable(), and an
// apostrophe stands before what a spreadsheet would take for a formula.
void to_csv(const record::Report& report, const json::TextSink& sink);

// GitHub-flavoured tables: one for each geometry and cell, then totals of the whole model.
void to_markdown(const record::Report& report, const json::TextSink& sink);

// The JSON of Google Benchmark: an "iteration" entry for each sample, then mean and median.
// Rows without a time are named in the context.
void to_google_benchmark(const record::Report& report, const json::TextSink& sink);

// The JSON of nvbench, schema 1.0.0: a benchmark for each variant, a state for each cell. Rows
// without a time are skipped states.
void to_nvbench(const record::Report& report, const json::TextSink& sink);

// Bencher Metric Format: the measures latency (ns), throughput (bytes/s) and speedup.
void to_bencher(const record::Report& report, const json::TextSink& sink);

// What github-action-benchmark takes as customSmallerIsBetter (time) or customBiggerIsBetter (the
// others): the tool's name carries the direction, so that each metric is a file of its own.
enum class ActionMetric : std::uint8_t { kTime, kBandwidth, kSpeedup };
void to_github_action(const record::Report& report, ActionMetric metric,
                      const json::TextSink& sink);

// A line "NAME=VALUE UNIT" for each cell, which the patterns of ReFrame's performance functions
// find in the output of a test. Names have no blanks and stay the same from run to run.
void to_reframe(const record::Report& report, ActionMetric metric, const json::TextSink& sink);

// Gauges as the textfile collector of Prometheus' node_exporter takes them: base units, no times of
// samples, a series for each unit and cell. Rows without a time have nf4bench_measurement_passed
// alone.
void to_openmetrics(const record::Report& report, const json::TextSink& sink);

// Marks by the scheme of marking.hpp, as a GitHub-flavoured table.
void to_marking(const record::Report& report, const json::TextSink& sink);

// One page for a browser that needs nothing else: no network, light and dark, printable.
void to_html(const record::Report& report, const json::TextSink& sink);

// What `export --to` takes. One more is a file with its function, and a line in formats.cpp.
struct Format {
  const char* name = "";
  void (*write)(const record::Report& report, ActionMetric metric,
                const json::TextSink& sink) = nullptr;
  std::vector<std::string_view> marks{};  // lines of the first 4 KiB of every such file hold them
  bool has_one_metric = false;            // else it holds all, and the metric says nothing
};
const std::vector<Format>& formats();

// Whether a file that begins so was written in `format`.
bool is_of(const Format& format, std::string_view beginning);

}  // namespace nf4bench::exports
