// A run of a thousand geometries takes as much memory as one of a hundred, apart from the report.

#include "faults/short_run.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace nf4bench::test {
namespace {

constexpr std::int64_t kMegabyte = 1'000'000;

Outcome run_geometries(const std::string& report, int count) {
  return nf4bench(
      with_shapes(short_run(report, {"--quiet", "--max-time", "0", "--precision", "1"}), count));
}

TEST(ManyGeometries, OfOneRunFinishInFlatMemory) {
  const ScratchFolder scratch;
  const Outcome hundred = run_geometries(scratch.path("hundred.json"), 100);
  ASSERT_EQ(hundred.exit_code, 0) << hundred.err;
  const Outcome thousand = run_geometries(scratch.path("thousand.json"), 1000);
  ASSERT_EQ(thousand.exit_code, 0) << thousand.err;
  const nlohmann::json report = report_at(scratch.path("thousand.json"));
  EXPECT_EQ(report.at("tensors").size(), 1000u);
  EXPECT_EQ(report.at("measurements").size(), 1000u);
  const auto size = static_cast<std::int64_t>(read_file(scratch.path("thousand.json")).size());
  fmt::print("100 geometries: {:.1f} MB; 1,000: {:.1f} MB with a report of {:.1f} MB\n",
             static_cast<double>(hundred.peak_bytes) / kMegabyte,
             static_cast<double>(thousand.peak_bytes) / kMegabyte,
             static_cast<double>(size) / kMegabyte);
  // The report as data, as a tree and as text; nothing that belongs to a tensor or workload.
  EXPECT_LT(thousand.peak_bytes - hundred.peak_bytes, 10 * size);
}

}  // namespace
}  // namespace nf4bench::test
