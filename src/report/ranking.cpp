#include "report/ranking.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <limits>
#include <map>
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

std::string remedy_for(const record::HostLoad& load, record::DeviceKind kind) {
  const int left = static_cast<int>(load.processors * (1.0 - load.stolen) - load.others);
  if (load.idle_threads > load.others) {
    return "let idle threads sleep (OMP_WAIT_POLICY=passive), or run without that peer";
  }
  if (kind == record::DeviceKind::kCuda) return "wait until it is quiet, or use --launch graph";
  if (left < 1) return "wait until it is quiet";
  return fmt::format("wait until it is quiet, or leave processors to the others (--threads {})",
                     left);
}

}  // namespace

bool is_timed(const record::Measurement& row) {
  return row.status == record::Status::kPassed && row.time_s;
}

// Whether what was timed tells nothing of the weights.
bool is_unjudged(const record::Measurement& row) {
  return row.verification && row.verification->accuracy &&
         row.verification->accuracy->weights == record::WeightClass::kUnseen;
}

std::string doubt_of(const record::Measurement& row) {
  if (!is_timed(row)) return "";
  if (is_unjudged(row)) return "unjudged";
  if (is_disturbed(row)) return "busy machine";
  const std::optional<double> half_width = statistics::relative_half_width(*row.time_s);
  if (!half_width) return "few samples";
  return *half_width > kWidestHalf ? "wide spread" : "";
}

bool Ranking::is_candidate(const record::Measurement& row) const {
  return std::ranges::find(candidates, &row) != candidates.end();
}

Ranking rank(const std::vector<const record::Measurement*>& rows) {
  std::vector<const record::Measurement*> timed;
  std::ranges::copy_if(rows, std::back_inserter(timed), [](const record::Measurement* row) {
    return is_timed(*row) && !row->reference_line;
  });
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

std::vector<std::string> unjudged_warnings(const record::Report& report) {
  std::set<std::string> where;
  for (const record::Measurement& m : report.measurements) {
    if (!is_timed(m) || !is_unjudged(m)) continue;
    where.insert(fmt::format("{} in {}", m.cell.tensor, to_string(m.cell.output_type)));
  }
  if (where.empty()) return {};
  return {fmt::format(
      "With these activations or weights all outputs are 0, infinite or NaN, whatever a kernel "
      "does ({}): what was timed was judged by nothing but the probes before; give others.",
      fmt::join(where, ", "))};
}

std::vector<std::string> load_warnings(const record::Report& report) {
  std::set<record::Cell> cells;
  std::set<record::Cell> disturbed;
  record::HostLoad worst;
  for (const record::Measurement& m : report.measurements) {
    if (!m.load) continue;
    cells.insert(m.cell);
    if (!m.load->disturbed) continue;
    const bool is_first = disturbed.empty();
    disturbed.insert(m.cell);
    const double taken = m.load->others + m.load->idle_threads;
    if (is_first || taken > worst.others + worst.idle_threads) worst = *m.load;
  }
  if (disturbed.empty()) return {};
  const std::string stolen =
      worst.stolen >= 0.005
          ? fmt::format(" and the host took {:.0f} % of their time", 100.0 * worst.stolen)
          : std::string();
  std::string busy = record::busy_words(worst, "kept up to");
  busy.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(busy.front())));
  return {fmt::format(
      "{}{} while {} of {} cells were timed: those times are a scheduler's; {}; nf4bench doctor "
      "tells more.",
      busy, stolen, disturbed.size(), cells.size(), remedy_for(worst, report.device.kind))};
}

namespace {

using Rows = std::vector<const record::Measurement*>;

// The rows of cells that differ in tokens alone, by tokens.
struct Series {
  record::Cell cell;
  std::map<std::int64_t, Rows> rows;
};

std::vector<Series> series_of(const record::Report& report) {
  std::vector<Series> all;
  std::map<record::Cell, std::size_t> places;
  for (const record::Measurement& m : report.measurements) {
    if (m.cell.tokens == 0) continue;
    const record::Cell cell = m.cell.over_all_tokens();
    const auto [place, is_new] = places.try_emplace(cell, all.size());
    if (is_new) all.push_back({cell, {}});
    all[place->second].rows[m.cell.tokens].push_back(&m);
  }
  return all;
}

std::vector<Stretch> stretches_of(const Series& series) {
  std::vector<Stretch> stretches;
  for (const auto& [tokens, rows] : series.rows) {
    const record::Measurement* fastest = rank(rows).fastest;
    const std::string variant = fastest == nullptr ? std::string() : fastest->variant;
    if (stretches.empty() || stretches.back().variant != variant) {
      stretches.push_back({variant, tokens, tokens});
    }
    stretches.back().last = tokens;
  }
  return stretches;
}

}  // namespace

std::vector<Crossover> find_crossovers(const record::Report& report) {
  std::vector<Crossover> found;
  for (const Series& series : series_of(report)) {
    if (series.rows.size() > 1) found.push_back({series.cell, stretches_of(series)});
  }
  return found;
}

std::string stretches_text(const Crossover& crossover) {
  std::vector<std::string> texts;
  for (const Stretch& each : crossover.stretches) {
    const std::string tokens = each.first == each.last
                                   ? fmt::format("{}", each.first)
                                   : fmt::format("{} to {}", each.first, each.last);
    texts.push_back((each.variant.empty() ? "undecided" : each.variant) + ' ' + tokens);
  }
  return fmt::format("{}", fmt::join(texts, ", "));
}

std::vector<CrossoverProbe> crossover_probes(const record::Report& report) {
  std::vector<CrossoverProbe> probes;
  for (const Crossover& crossover : find_crossovers(report)) {
    for (std::size_t i = 1; i < crossover.stretches.size(); ++i) {
      const Stretch& before = crossover.stretches[i - 1];
      const Stretch& after = crossover.stretches[i];
      if (before.variant.empty() || after.variant.empty()) continue;
      const std::int64_t middle = before.last + (after.first - before.last) / 2;
      const CrossoverProbe probe = {crossover.cell.tensor, middle};
      if (middle == before.last || std::ranges::find(probes, probe) != probes.end()) continue;
      probes.push_back(probe);
    }
  }
  return probes;
}

}  // namespace nf4bench::report
