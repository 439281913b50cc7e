#include "report/ranking.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>

namespace nf4bench::report {
namespace {

constexpr statistics::Interval kAnywhere = {0.0, std::numeric_limits<double>::infinity()};

// What a row costs against others of its cell, and where that may lie.
struct Cost {
  const record::Measurement* row = nullptr;
  double center = 0.0;
  statistics::Interval reach = kAnywhere;
};

bool is_disturbed(const record::Measurement& row) {
  return row.load && row.load->disturbed;
}

Cost cost_by_time(const record::Measurement& row) {
  return {&row, row.time_s->median, row.time_s->ci95.value_or(kAnywhere)};
}

// Speedups are ratios of calls of the same round, which other programs disturb alike.
Cost cost_by_speedup(const record::Measurement& row) {
  if (row.speedup->baseline == row.variant) return {&row, 1.0, {1.0, 1.0}};
  Cost cost = {.row = &row, .center = 1.0 / row.speedup->ratio};
  if (row.speedup->ci95 && row.speedup->ci95->low > 0.0) {
    cost.reach = {1.0 / row.speedup->ci95->high, 1.0 / row.speedup->ci95->low};
  }
  return cost;
}

// By times where these can be trusted, else by speedups; by nothing where a row has none of those.
std::vector<Cost> costs_of(const std::vector<const record::Measurement*>& rows) {
  std::vector<Cost> costs;
  costs.reserve(rows.size());
  const auto is_busy = [](const auto* row) { return is_disturbed(*row); };
  const auto has_speedup = [](const auto* row) {
    return row->speedup && row->speedup->ratio > 0.0;
  };
  const bool is_any_busy = std::ranges::any_of(rows, is_busy);
  const bool has_speedups = std::ranges::all_of(rows, has_speedup);
  for (const record::Measurement* row : rows) {
    costs.push_back(is_any_busy && has_speedups ? cost_by_speedup(*row) : cost_by_time(*row));
    if (is_any_busy && !has_speedups) costs.back().reach = kAnywhere;
  }
  return costs;
}

// The row of each disturbed cell, of which the first is the most disturbed.
std::vector<const record::Measurement*> disturbed_cells(const record::Report& report,
                                                        std::size_t& cells) {
  std::set<record::Cell> all;
  std::set<record::Cell> seen;
  std::vector<const record::Measurement*> disturbed;
  for (const record::Measurement& m : report.measurements) {
    if (!m.load) continue;
    all.insert(m.cell);
    if (m.load->disturbed && seen.insert(m.cell).second) disturbed.push_back(&m);
  }
  cells = all.size();
  return disturbed;
}

std::string remedy_for(const record::HostLoad& load, record::DeviceKind kind) {
  const int left = static_cast<int>(load.processors * (1.0 - load.stolen) - load.others);
  if (kind == record::DeviceKind::kCuda) return "wait until it is quiet, or use --launch graph";
  if (left < 1) return "wait until it is quiet";
  return fmt::format("wait until it is quiet, or leave processors to the others (--threads {})",
                     left);
}

}  // namespace

bool is_timed(const record::Measurement& row) {
  return row.status == record::Status::kPassed && row.time_s;
}

std::string doubt_of(const record::Measurement& row) {
  if (!is_timed(row)) return "";
  if (is_disturbed(row)) return "busy machine";
  const std::optional<double> half_width = statistics::relative_half_width(*row.time_s);
  if (!half_width) return "few samples";
  return *half_width > kWidestHalf ? "wide spread" : "";
}

bool Ranking::is_candidate(const record::Measurement& row) const {
  return std::find(candidates.begin(), candidates.end(), &row) != candidates.end();
}

Ranking rank(const std::vector<const record::Measurement*>& rows) {
  std::vector<const record::Measurement*> timed;
  std::copy_if(
      rows.begin(), rows.end(), std::back_inserter(timed),
      [](const record::Measurement* row) { return is_timed(*row) && !row->reference_line; });
  if (timed.size() < 2) return {};
  const std::vector<Cost> costs = costs_of(timed);
  const Cost& fastest = *std::ranges::min_element(costs, {}, &Cost::center);
  Ranking ranking;
  bool is_doubtful = false;
  for (const Cost& each : costs) {
    if (each.row != fastest.row && each.reach.low > fastest.reach.high) continue;
    ranking.candidates.push_back(each.row);
    is_doubtful = is_doubtful || !doubt_of(*each.row).empty();
  }
  const bool is_decided = !is_doubtful || ranking.candidates.size() == 1;
  if (is_decided) return {.fastest = fastest.row, .candidates = {}};
  return ranking;
}

std::vector<std::string> load_warnings(const record::Report& report) {
  std::size_t cells = 0;
  const std::vector<const record::Measurement*> disturbed = disturbed_cells(report, cells);
  if (disturbed.empty()) return {};
  const record::HostLoad& worst =
      *(*std::max_element(disturbed.begin(), disturbed.end(),
                          [](const record::Measurement* a, const record::Measurement* b) {
                            return a->load->others < b->load->others;
                          }))
           ->load;
  const std::string stolen =
      worst.stolen > 0.0
          ? fmt::format(" and the host took {:.0f} % of their time", 100.0 * worst.stolen)
          : std::string();
  return {fmt::format(
      "Other programs kept up to {:.1f} of {} processors busy{} while {} of {} cells were timed: "
      "those times are a scheduler's; {}; nf4bench doctor tells more.",
      worst.others, worst.processors, stolen, disturbed.size(), cells,
      remedy_for(worst, report.device.kind))};
}

}  // namespace nf4bench::report
