#pragma once

#include "report/report.hpp"

#include <string>

namespace nf4bench::exports {

// A report in the words of other tools. Each function gives the whole text of a file. Numbers are
// the shortest decimals that read back as the same double; none is ever NaN or Infinity. Where a
// tool would take any number for a measurement, rows without a time are left out; each format says
// how it names them.

// RFC 4180: a line for each measurement, times in seconds, empty fields for what is not known.
std::string to_csv(const record::Report& report);

// GitHub-flavoured tables: one for each geometry and cell, then totals of the whole model.
std::string to_markdown(const record::Report& report);

// The JSON of Google Benchmark: an "iteration" entry for each sample, then mean and median.
// Rows without a time are named in the context.
std::string to_google_benchmark(const record::Report& report);

// The JSON of nvbench, schema 1.0.0: a benchmark for each variant, a state for each cell. Rows
// without a time are skipped states.
std::string to_nvbench(const record::Report& report);

// Bencher Metric Format: the measures latency (ns), throughput (bytes/s) and speedup.
std::string to_bencher(const record::Report& report);

// What github-action-benchmark takes as customSmallerIsBetter (time) or customBiggerIsBetter (the
// others): the tool's name carries the direction, so that each metric is a file of its own.
enum class ActionMetric : std::uint8_t { kTime, kBandwidth, kSpeedup };
std::string to_github_action(const record::Report& report, ActionMetric metric);

// One page for a browser that needs nothing else: no network, light and dark, printable.
std::string to_html(const record::Report& report);

}  // namespace nf4bench::exports
