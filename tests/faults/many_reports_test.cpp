// Merging many reports takes the memory of few, and a time in proportion to them.

#include "base/atomic_file.hpp"
#include "cli/process.hpp"
#include "fleet/unit_reports.hpp"

#include <gtest/gtest.h>

#include <filesystem>

namespace nf4bench::test {
namespace {

constexpr std::int64_t kMegabyte = 1'000'000;

// A report of two megabytes, most of it samples.
report::NamedReport large_run(int number) {
  std::vector<Timing> timings;
  for (int i = 0; i < 40; ++i) timings.push_back({fmt::format("v{}", i), 1e-5 * (i + 1)});
  report::NamedReport run = unit_run(number, timings);
  for (record::Measurement& m : run.report.measurements) {
    const std::vector<double> samples = m.samples_s;
    while (m.samples_s.size() < 1600) {
      m.samples_s.insert(m.samples_s.end(), samples.begin(), samples.end());
    }
    m.time_s = statistics::summarize(m.samples_s);
    m.sm_clock_hz.assign(m.samples_s.size(), 1975123456.0);
  }
  return run;
}

TEST(ManyReports, AreMergedInFlatMemory) {
  const ScratchFolder scratch;
  const std::string text = report::to_json(large_run(0).report);
  ASSERT_GT(text.size(), 2 * kMegabyte);
  const std::string uuid = "GPU-00000000";
  const auto merge = [&](const std::string& name, int count) {
    std::filesystem::create_directory(scratch.path(name));
    for (int number = 0; number < count; ++number) {
      std::string copy = text;
      copy.replace(copy.find(uuid), uuid.size(), fmt::format("GPU-{:08}", number));
      write_file(scratch.path(fmt::format("{}/{}.json", name, number)), copy);
    }
    const Outcome outcome =
        nf4bench({"merge", scratch.path(name), "-o", scratch.path(name + ".json")});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_NE(outcome.err.find(fmt::format("{} units", count)), std::string::npos) << outcome.err;
    fmt::print("{} reports of {:.1f} MB: {:.1f} MB, {:.1f} ms of processor time a report\n", count,
               static_cast<double>(text.size()) / kMegabyte,
               static_cast<double>(outcome.peak_bytes) / kMegabyte,
               1e3 * outcome.cpu_seconds / count);
    return outcome.peak_bytes;
  };
  const std::int64_t few = merge("few", 16);
  const std::int64_t many = merge("many", 64);
  // What stays of a report of two megabytes: 40 cells of 24 bytes and some facts.
  EXPECT_LT(many - few, 8 * kMegabyte);
}

}  // namespace
}  // namespace nf4bench::test
