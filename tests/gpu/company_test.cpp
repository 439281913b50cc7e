// A time must not depend on its company, whatever the reason might be, but for the clock, which
// heat and power lower. Each contender is measured in processes of the program itself: alone and
// among all others, at a geometry that comes first in its run and at the same one when it comes
// last.

#include "cli/process.hpp"
#include "device/devices.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

namespace nf4bench::test {
namespace {

using nlohmann::json;

constexpr double kShortest = 2e-6;  // seconds; below, the clock of the events shows

// Of one contender in one process.
struct Median {
  double seconds = 0.0;
  double cycles = 0.0;  // of the multiprocessors; NaN where their clock is unknown
};
using Medians = std::vector<Median>;
using Figure = double Median::*;

struct Round {
  Medians alone;
  Medians in_company;
};
using Contender = std::pair<std::string, std::string>;  // variant and shape
using Rounds = std::map<Contender, Round>;

Median median_in_company(const json& row) {
  const double seconds = row.at("time_s").at("median");
  const std::vector<double> clocks = row.at("sm_clock_hz");
  const double sum = std::accumulate(clocks.begin(), clocks.end(), 0.0);
  return {seconds, seconds * sum / static_cast<double>(clocks.size())};
}

Median median_alone(const json& row) {
  const json& alone = row.at("alone_s");
  const json& clock = alone.at("sm_clock_hz");
  EXPECT_EQ(clock.is_null(), row.at("sm_clock_hz").empty());
  const double seconds = alone.at("median");
  return {seconds, seconds * (clock.is_null() ? std::nan("") : clock.get<double>())};
}

// Runs all built-in variants at `shapes` in this order, and each of them alone.
void measure(const std::vector<std::string>& shapes, Rounds& rounds) {
  const ScratchFolder scratch;
  const std::string path = scratch.path("report.json");
  std::vector<std::string> arguments = {
      "run",      "--device", "cuda:0",  "--dtype",         "bfloat16", "--precision", "0.005",
      "--verify", "sampled",  "--quiet", "--check-company", "--json",   path};
  for (const std::string& shape : shapes) arguments.insert(arguments.end(), {"--shape", shape});
  const Outcome outcome = nf4bench(arguments);
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const json report = json::parse(read_file(path));
  for (const json& warning : report.at("warnings")) {
    // Figures in cycles do not mind.
    const auto text = warning.get<std::string>();
    EXPECT_NE(text.find("held the clocks down"), std::string::npos) << text;
  }
  for (const json& row : report.at("measurements")) {
    const auto at =
        static_cast<std::size_t>(std::stoi(row.at("tensor").get<std::string>().substr(1)));
    ASSERT_FALSE(row.at("alone_s").is_null()) << row.at("variant");
    Round& round = rounds[{row.at("variant"), shapes.at(at)}];
    round.in_company.push_back(median_in_company(row));
    round.alone.push_back(median_alone(row));
  }
}

constexpr double kTolerance = 0.01;

// Calls that overlap differ from process to process, alone as well: see docs/method.md.
bool overlaps(const Contender& contender) {
  return contender.first == "lop3_prmt" || contender.first == "fused";
}

std::vector<double> sorted(const Medians& medians, Figure figure) {
  std::vector<double> figures;
  for (const Median& median : medians) figures.push_back(median.*figure);
  std::sort(figures.begin(), figures.end());
  return figures;
}

double median_of(const Medians& medians, Figure figure) {
  const std::vector<double> figures = sorted(medians, figure);
  const std::size_t half = figures.size() / 2;
  return figures.size() % 2 == 1 ? figures[half] : (figures[half - 1] + figures[half]) / 2.0;
}

Medians joined(Medians all, const Medians& more) {
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

// Whether all medians of a round agree in `figure`. Of calls that overlap the one in company has to
// lie within what processes alone span, as far as they are known.
bool agrees(const Contender& contender, const Round& round, const Medians& all_alone,
            Figure figure) {
  if (overlaps(contender)) {
    const std::vector<double> span = sorted(all_alone, figure);
    const double median = median_of(round.in_company, figure);
    return median >= (1.0 - kTolerance) * span.front() &&
           median <= (1.0 + kTolerance) * span.back();
  }
  const std::vector<double> all = sorted(joined(round.alone, round.in_company), figure);
  return all.back() <= (1.0 + kTolerance) * all.front();
}

bool is_independent(const Contender& contender, const Round& round, const Medians& all_alone) {
  return agrees(contender, round, all_alone, &Median::seconds) ||
         agrees(contender, round, all_alone, &Median::cycles);
}

std::string range_text(const Medians& medians) {
  const std::vector<double> seconds = sorted(medians, &Median::seconds);
  const std::vector<double> cycles = sorted(medians, &Median::cycles);
  return fmt::format("{:.3f} to {:.3f} us ({:.0f} to {:.0f} cycles)", seconds.front() * 1e6,
                     seconds.back() * 1e6, cycles.front(), cycles.back());
}

using Findings = std::map<Contender, std::string>;

// Measures all, gives the contenders that depend on company, and prints them. `alone` holds what
// was measured alone so far, and gets more.
Findings measure_all(std::map<Contender, Medians>& alone) {
  Rounds rounds;
  std::vector<std::string> shapes = {"1024x1024", "512x512", "2048x2048", "4096x4096"};
  measure(shapes, rounds);
  std::reverse(shapes.begin(), shapes.end());
  measure(shapes, rounds);
  EXPECT_FALSE(rounds.empty());
  Findings found;
  for (const auto& [contender, round] : rounds) {
    Medians& all_alone = alone[contender];
    all_alone = joined(all_alone, round.alone);
    if (sorted(round.alone, &Median::seconds).front() < kShortest ||
        is_independent(contender, round, all_alone)) {
      continue;
    }
    found[contender] = fmt::format("{} in company, {} alone", range_text(round.in_company),
                                   range_text(round.alone));
  }
  for (const auto& [contender, medians] : found) {
    fmt::print("{} at {}: {}\n", contender.first, contender.second, medians);
  }
  return found;
}

// What depends on company does so each time; a hiccup does not come back.
TEST(GpuCompany, NoTimeDependsOnIt) {
  std::string problem;
  if (device::cuda_devices(&problem).empty()) {
    if (std::getenv("NF4BENCH_REQUIRE_GPU") != nullptr) FAIL() << problem;
    GTEST_SKIP() << problem;
  }
  constexpr int kAttempts = 3;
  std::map<Contender, Medians> alone;
  Findings found = measure_all(alone);
  for (int attempt = 1; attempt < kAttempts && !found.empty(); ++attempt) {
    const Findings again = measure_all(alone);
    std::erase_if(found, [&](const auto& each) { return !again.contains(each.first); });
  }
  for (const auto& [contender, medians] : found) {
    ADD_FAILURE() << contender.first << " at " << contender.second << ": " << medians;
  }
}

}  // namespace
}  // namespace nf4bench::test
