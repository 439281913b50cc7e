#pragma once

#include "report/report.hpp"

#include <string>

namespace nf4bench::exports {

// A report in the words of other tools. Each function gives the whole text of a file. Numbers are
// the shortest decimals that read back as the same double; none is ever NaN or Infinity. Rows
// without a time are left out where the tool would take any number that stands in for one for a
// measurement; each format says how it names them.

// RFC 4180, one line a measurement, times in seconds, empty fields for what is not known.
std::string to_csv(const record::Report& report);

// GitHub-flavoured tables: one a geometry and cell, then whole-model totals.
std::string to_markdown(const record::Report& report);

// The JSON of Google Benchmark: an "iteration" entry a sample, then mean and median as aggregates.
// Rows without a time are named in the context.
std::string to_google_benchmark(const record::Report& report);

// The JSON of nvbench, schema 1.0.0: a benchmark a variant, a state a cell. Rows without a time are
// skipped states.
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
