#include "compare/run_cells.hpp"

#include "base/error.hpp"
#include "base/nearest_names.hpp"
#include "base/text.hpp"
#include "record/leaves.hpp"
#include "record/samples.hpp"
#include "statistics/statistics.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <utility>

namespace nf4bench::compare {

CellKey key_of(const record::ReportTensor& tensor, const record::Measurement& measurement) {
  record::Cell cell = measurement.cell.over_all_tensors();
  cell.device.clear();
  return {.geometry = tensor.geometry, .cell = std::move(cell), .variant = measurement.variant};
}

std::string shape_text(const CellKey& key) {
  return record::describe_shape(key.geometry);
}

std::string block_text(const CellKey& key) {
  return fmt::format("{} block {} {}  {}", shape_text(key), key.geometry.blocksize,
                     to_string(key.geometry.absmax_kind), report::cell_name(key.cell));
}

text::Columns<CellKey> key_columns() {
  using Key = CellKey;
  return {
      {{.key = "shape"}, [](const Key& each) { return each.geometry.shape; }},
      {{.key = "blocksize"}, [](const Key& each) { return each.geometry.blocksize; }},
      {{.key = "nested"},
       [](const Key& each) { return each.geometry.absmax_kind == nf4::AbsmaxKind::kNested; }},
      {{.key = "stack"},
       [](const Key& each) {
         return each.geometry.stack ? text::Value(describe(*each.geometry.stack)) : text::Value();
       }},
      {{.key = "operation"}, [](const Key& each) { return each.cell.operation; }},
      {{.name = "variant", .key = "variant", .most = 24}, &Key::variant},
      {{.key = "output_dtype"}, [](const Key& each) { return to_string(each.cell.output_type); }},
      {{.key = "tokens"},
       [](const Key& each) {
         return each.cell.tokens > 0 ? text::Value(each.cell.tokens) : text::Value();
       }},
      {{.key = "cache"}, [](const Key& each) { return to_string(each.cell.cache); }},
      {{.key = "launch"}, [](const Key& each) { return to_string(each.cell.launch); }}};
}

bool is_selected(const CellKey& key, const std::vector<std::string>& patterns) {
  return patterns.empty() || std::ranges::any_of(patterns, [&](const std::string& pattern) {
           return matches_wildcard(pattern, key.variant);
         });
}

std::set<std::string> measured_variants(const record::Report& report) {
  std::set<std::string> names;
  for (const record::Measurement& row : report.measurements) names.insert(row.variant);
  return names;
}

void check_patterns(const std::vector<std::string>& patterns,
                    const std::set<std::string>& measured) {
  const std::vector<std::string> names(measured.begin(), measured.end());
  for (const std::string& pattern : patterns) {
    const auto matches = [&](const std::string& name) { return matches_wildcard(pattern, name); };
    if (names.empty() || std::ranges::any_of(names, matches)) continue;
    throw Error(ErrorKind::kUsage, "--variant: \"{}\" is none of those in the reports: {}.{}",
                escaped(pattern), fmt::join(names, ", "), did_you_mean(pattern, names));
  }
}

namespace {

// cudaEventElapsedTime resolves about half a microsecond. A steady clock ticks in nanoseconds, but
// reading it twice takes about this long.
constexpr double kCudaResolution_s = 0.5e-6;
constexpr double kCpuResolution_s = 0.1e-6;

bool are_positive(std::span<const double> values) {
  return std::ranges::all_of(values,
                             [](double value) { return std::isfinite(value) && value > 0.0; });
}

bool has_interval(std::int64_t samples) {
  return samples >= static_cast<std::int64_t>(statistics::kFewestForInterval);
}

// Why a time that passed is in doubt; empty when it is not.
std::string find_doubt(const record::Measurement& m) {
  if (m.load && m.load->disturbed) {
    return record::busy_words(*m.load);
  }
  if (has_interval(record::sample_count(m))) return "";
  return fmt::format("{} samples are too few for an interval, which takes {}",
                     record::sample_count(m), statistics::kFewestForInterval);
}

// The same of what is compared besides times.
std::string find_fault_of(const record::Measurement& m, Metric metric) {
  const std::optional<double> value = record::number_at(m, facts_of(metric).field);
  if (!value && metric == Metric::kEnergy && m.energy) {
    return "its energy is not known: " + m.energy->unavailable;
  }
  if (!value) return facts_of(metric).absent;
  bool is_positive = are_positive(std::span(&*value, 1));
  if (metric == Metric::kSpeedup && m.speedup->ci95) {
    const double ends[] = {m.speedup->ci95->low, m.speedup->ci95->high};
    is_positive = is_positive && are_positive(ends);
  }
  return is_positive ? "" : fmt::format("its {} is not a positive number", to_string(metric));
}

// Why the row's numbers cannot be used; empty when they can.
std::string find_fault(const record::Measurement& m, Metric metric) {
  if (m.status == record::Status::kFailed || m.status == record::Status::kInvalid) {
    return fmt::format("{}: {}", to_string(m.status), m.reason);
  }
  if (record::sample_count(m) == 0) return "passed, but there are no samples";
  if (!are_positive(m.samples_s)) return "passed, but a sample is not a positive time";
  if (m.digest && !(m.time_s && are_positive(std::span(&m.time_s->median, 1)))) {
    return "passed, but its median is not a positive time";
  }
  return metric == Metric::kTime ? "" : find_fault_of(m, metric);
}

// Of the metric in a row that is timed; time is its samples'.
double log_cost_of(const record::Measurement& m, Metric metric, double time_s) {
  if (metric == Metric::kTime) return std::log(time_s);
  const double value = record::number_at(m, facts_of(metric).field).value_or(1.0);
  return is_cost(metric) ? std::log(value) : -std::log(value);
}

RunValue value_of(const record::Measurement& m, Metric metric, record::DeviceKind kind) {
  RunValue value;
  const record::SampleDigest digest = record::digest_of(m);
  value.time_s = m.digest ? m.time_s->median : statistics::median(m.samples_s);
  value.log_cost = log_cost_of(m, metric, value.time_s);
  value.log_error = metric == Metric::kEnergy ? m.energy->error
                    : metric == Metric::kSpeedup && m.speedup->ci95
                        ? statistics::log_error(*m.speedup->ci95)
                        : digest.log_error;
  if (metric != Metric::kEnergy) {
    value.resolution_s =
        (kind == record::DeviceKind::kCuda ? kCudaResolution_s : kCpuResolution_s) /
        std::max(m.launches_per_sample, 1);
  }
  if (are_positive(m.sm_clock_hz) && digest.median_clock_hz.value_or(0.0) > 0.0) {
    value.clock_hz = digest.median_clock_hz;
  }
  value.fraction_of_copy = m.fraction_of_copy;
  value.samples = digest.count;
  value.has_interval = has_interval(digest.count);
  value.doubt = find_doubt(m);
  return value;
}

RunCell cell_of(const record::Measurement& m, CellKey key, Metric metric, record::DeviceKind kind) {
  RunCell cell = {.key = std::move(key), .state = CellState::kMeasured, .reason = "", .value = {}};
  if (m.status == record::Status::kSkipped) {
    cell.state = CellState::kSkipped;
    cell.reason = "skipped: " + m.reason;
    return cell;
  }
  cell.reason = find_fault(m, metric);
  if (!cell.reason.empty()) {
    cell.state = CellState::kWrong;
  } else {
    cell.value = value_of(m, metric, kind);
  }
  return cell;
}

// The mean of `count` values merged so far and one more.
RunValue merged(const RunValue& mean, int count, const RunValue& next) {
  const double share = 1.0 / (count + 1.0);
  const auto mix = [&](double a, double b) { return a + (b - a) * share; };
  RunValue value = mean;
  value.log_cost = mix(mean.log_cost, next.log_cost);
  value.log_error = std::hypot(mean.log_error * (1.0 - share), next.log_error * share);
  value.time_s = mix(mean.time_s, next.time_s);
  value.resolution_s = std::max(mean.resolution_s, next.resolution_s);
  const auto mix_known = [&](const std::optional<double>& a, const std::optional<double>& b) {
    return a && b ? std::optional(mix(*a, *b)) : std::nullopt;
  };
  value.clock_hz = mix_known(mean.clock_hz, next.clock_hz);
  value.fraction_of_copy = mix_known(mean.fraction_of_copy, next.fraction_of_copy);
  value.samples = mean.samples + next.samples;
  value.has_interval = mean.has_interval && next.has_interval;
  if (value.doubt.empty()) value.doubt = next.doubt;
  return value;
}

void merge(RunCell& cell, int& count, const RunCell& next) {
  if (next.state > cell.state) {
    cell.state = next.state;
    cell.reason = next.reason;
  }
  if (cell.state != CellState::kMeasured) return;
  cell.value = merged(cell.value, count, next.value);
  ++count;
}

}  // namespace

std::vector<RunCell> run_cells(const record::Report& report, Metric metric) {
  std::map<std::string, const record::ReportTensor*> tensors;
  for (const record::ReportTensor& tensor : report.tensors) tensors[tensor.id] = &tensor;
  std::vector<RunCell> cells;
  std::vector<int> counts;
  std::map<CellKey, std::size_t> places;
  for (const record::Measurement& m : report.measurements) {
    if (metric == Metric::kSpeedup &&
        m.variant == record::baseline_of(report.settings, m.cell.operation))
      continue;
    RunCell cell = cell_of(m, key_of(*tensors.at(m.cell.tensor), m), metric, report.device.kind);
    const auto [place, is_new] = places.try_emplace(cell.key, cells.size());
    if (is_new) {
      cells.push_back(std::move(cell));
      counts.push_back(1);
    } else {
      merge(cells[place->second], counts[place->second], cell);
    }
  }
  return cells;
}

}  // namespace nf4bench::compare
