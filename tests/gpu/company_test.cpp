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

// Medians by variant and shape: alone first and last, in company first and last.
using Medians = std::map<std::pair<std::string, std::string>, std::map<std::string, double>>;

// Runs all built-in variants at `shapes` in this order, and each of them alone.
void measure(const std::vector<std::string>& shapes, const std::string& company, Medians& medians) {
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
    const std::string place = at == 0 ? " first" : at + 1 == shapes.size() ? " last" : " between";
    std::map<std::string, double>& found = medians[{row.at("variant"), shapes.at(at)}];
    found[company + place] = row.at("time_s").at("median");
    ASSERT_FALSE(row.at("alone_s").is_null()) << row.at("variant");
    found["alone" + place] = row.at("alone_s").at("median");
  }
}

// By how much medians may differ. Calls that overlap differ from process to process: see
// docs/method.md.
double tolerance_of(const std::string& variant) {
  return variant == "lop3_prmt" || variant == "fused" ? 0.04 : 0.01;
}

using Findings = std::map<std::pair<std::string, std::string>, std::string>;

// The contenders whose medians differ, and how.
Findings dependent_ones(const Medians& medians) {
  Findings found;
  for (const auto& [contender, times] : medians) {
    const auto [least, most] =
        std::minmax_element(times.begin(), times.end(),
                            [](const auto& a, const auto& b) { return a.second < b.second; });
    if (least->second < kShortest ||
        most->second <= (1.0 + tolerance_of(contender.first)) * least->second)
      continue;
    found[contender] = fmt::format("{:.3f} us {}, {:.3f} us {}", least->second * 1e6, least->first,
                                   most->second * 1e6, most->first);
  }
  return found;
}

Findings measure_all() {
  Medians medians;
  std::vector<std::string> shapes = {"1024x1024", "512x512", "2048x2048", "4096x4096"};
  measure(shapes, "in company", medians);
  std::reverse(shapes.begin(), shapes.end());
  measure(shapes, "in company", medians);
  EXPECT_FALSE(medians.empty());
  return dependent_ones(medians);
}

// What depends on company does so each time; a hiccup does not come back.
TEST(GpuCompany, NoTimeDependsOnIt) {
  std::string problem;
  if (device::cuda_devices(&problem).empty()) {
    if (std::getenv("NF4BENCH_REQUIRE_GPU") != nullptr) FAIL() << problem;
    GTEST_SKIP() << problem;
  }
  constexpr int kAttempts = 3;
  Findings found = measure_all();
  for (int attempt = 1; attempt < kAttempts && !found.empty(); ++attempt) {
    const Findings again = measure_all();
    std::erase_if(found, [&](const auto& each) { return !again.contains(each.first); });
  }
  for (const auto& [contender, times] : found) {
    ADD_FAILURE() << contender.first << " at " << contender.second << ": " << times;
  }
}

}  // namespace
}  // namespace nf4bench::test
