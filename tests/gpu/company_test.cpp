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

// How the median in company lies outside of what processes alone differ by, and 1 %; empty when it
// does not.
std::string dependence(const Times& times) {
  constexpr double kTolerance = 0.01;
  const auto [least, most] = std::minmax_element(times.alone.begin(), times.alone.end());
  const double median = median_of(times.in_company);
  if (*least < kShortest) return {};
  if (median >= (1.0 - kTolerance) * *least && median <= (1.0 + kTolerance) * *most) return {};
  return fmt::format("{:.3f} us in company, {:.3f} to {:.3f} us alone", median * 1e6, *least * 1e6,
                     *most * 1e6);
}

std::vector<std::string> dependent_ones(const Medians& medians) {
  std::vector<std::string> found;
  for (const auto& [contender, times] : medians) {
    const std::string how = dependence(times);
    if (!how.empty()) {
      found.push_back(fmt::format("{} at {}: {}", contender.first, contender.second, how));
    }
  }
  return found;
}

void measure_all(Medians& medians) {
  std::vector<std::string> shapes = {"1024x1024", "512x512", "2048x2048", "4096x4096"};
  measure(shapes, medians);
  std::reverse(shapes.begin(), shapes.end());
  measure(shapes, medians);
  ASSERT_FALSE(medians.empty());
}

// Times of calls that overlap differ from process to process, alone as well: see docs/method.md.
// More processes tell that from a dependence, which stays.
TEST(GpuCompany, NoTimeDependsOnIt) {
  std::string problem;
  if (device::cuda_devices(&problem).empty()) {
    if (std::getenv("NF4BENCH_REQUIRE_GPU") != nullptr) FAIL() << problem;
    GTEST_SKIP() << problem;
  }
  constexpr int kRounds = 3;
  Medians medians;
  measure_all(medians);
  for (int round = 1; round < kRounds && !dependent_ones(medians).empty(); ++round) {
    measure_all(medians);
  }
  for (const std::string& each : dependent_ones(medians)) ADD_FAILURE() << each;
}

}  // namespace
}  // namespace nf4bench::test
