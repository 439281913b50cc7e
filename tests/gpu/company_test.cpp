// A time must not depend on its company, whatever the reason might be. Each contender is measured
// in processes of the program itself: alone and among all others, at a geometry that comes first in
// its run and at the same one when it comes last.

#include "cli/process.hpp"
#include "device/devices.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace nf4bench::test {
namespace {

using nlohmann::json;

constexpr double kShortest = 2e-6;  // seconds; below, the clock of the events shows

// Medians of one contender in as many processes.
struct Times {
  std::vector<double> alone;
  std::vector<double> in_company;
};
using Contender = std::pair<std::string, std::string>;  // variant and shape
using Medians = std::map<Contender, Times>;

// Runs all built-in variants at `shapes` in this order, and each of them alone.
void measure(const std::vector<std::string>& shapes, Medians& medians) {
  const ScratchFolder scratch;
  const std::string path = scratch.path("report.json");
  std::vector<std::string> arguments = {
      "run",      "--device", "cuda:0",  "--dtype",         "bfloat16", "--precision", "0.005",
      "--verify", "sampled",  "--quiet", "--check-company", "--json",   path};
  for (const std::string& shape : shapes) arguments.insert(arguments.end(), {"--shape", shape});
  const Outcome outcome = nf4bench(arguments);
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const json report = json::parse(read_file(path));
  EXPECT_TRUE(report.at("warnings").empty()) << report.at("warnings");
  for (const json& row : report.at("measurements")) {
    const auto at =
        static_cast<std::size_t>(std::stoi(row.at("tensor").get<std::string>().substr(1)));
    Times& times = medians[{row.at("variant"), shapes.at(at)}];
    times.in_company.push_back(row.at("time_s").at("median"));
    ASSERT_FALSE(row.at("alone_s").is_null()) << row.at("variant");
    times.alone.push_back(row.at("alone_s").at("median"));
  }
}

double median_of(std::vector<double> times) {
  std::sort(times.begin(), times.end());
  const std::size_t half = times.size() / 2;
  return times.size() % 2 == 1 ? times[half] : (times[half - 1] + times[half]) / 2.0;
}

constexpr double kTolerance = 0.01;

// Calls that overlap differ from process to process, alone as well: see docs/method.md.
bool overlaps(const Contender& contender) {
  return contender.first == "lop3_prmt" || contender.first == "fused";
}

std::string range_text(const std::vector<double>& times) {
  const auto [least, most] = std::minmax_element(times.begin(), times.end());
  return fmt::format("{:.3f} to {:.3f} us", *least * 1e6, *most * 1e6);
}

bool is_within_tolerance(double time, const std::vector<double>& others) {
  const auto [least, most] = std::minmax_element(others.begin(), others.end());
  return time >= (1.0 - kTolerance) * *least && time <= (1.0 + kTolerance) * *most;
}

// Whether all medians of a round agree. Of calls that overlap the one in company has to lie within
// what processes alone span, as far as they are known.
bool is_independent(const Contender& contender, const Times& times,
                    const std::vector<double>& all_alone) {
  if (overlaps(contender)) return is_within_tolerance(median_of(times.in_company), all_alone);
  std::vector<double> all = times.alone;
  all.insert(all.end(), times.in_company.begin(), times.in_company.end());
  const auto [least, most] = std::minmax_element(all.begin(), all.end());
  return *most <= (1.0 + kTolerance) * *least;
}

using Findings = std::map<Contender, std::string>;

// Measures all, gives the contenders that depend on company, and prints them. `alone` holds what was measured
// alone so far, and gets more.
Findings measure_all(std::map<Contender, std::vector<double>>& alone) {
  Medians medians;
  std::vector<std::string> shapes = {"1024x1024", "512x512", "2048x2048", "4096x4096"};
  measure(shapes, medians);
  std::reverse(shapes.begin(), shapes.end());
  measure(shapes, medians);
  EXPECT_FALSE(medians.empty());
  Findings found;
  for (const auto& [contender, times] : medians) {
    std::vector<double>& all_alone = alone[contender];
    all_alone.insert(all_alone.end(), times.alone.begin(), times.alone.end());
    if (*std::min_element(times.alone.begin(), times.alone.end()) < kShortest ||
        is_independent(contender, times, all_alone)) {
      continue;
    }
    found[contender] = fmt::format("{} in company, {} alone", range_text(times.in_company),
                                   range_text(times.alone));
  }
  for (const auto& [contender, times] : found) {
    fmt::print("{} at {}: {}\n", contender.first, contender.second, times);
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
  std::map<Contender, std::vector<double>> alone;
  Findings found = measure_all(alone);
  for (int attempt = 1; attempt < kAttempts && !found.empty(); ++attempt) {
    const Findings again = measure_all(alone);
    std::erase_if(found, [&](const auto& each) { return !again.contains(each.first); });
  }
  for (const auto& [contender, times] : found) {
    ADD_FAILURE() << contender.first << " at " << contender.second << ": " << times;
  }
}

}  // namespace
}  // namespace nf4bench::test
