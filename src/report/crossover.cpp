#include "report/crossover.hpp"

#include "report/ranking.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

namespace nf4bench::report {
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
