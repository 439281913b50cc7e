// Variants whose launches cannot be recorded in a graph.

#include "bench/fake_run.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace nf4bench {
namespace {

TEST(Uncapturable, IsVerifiedButSkippedInReplayedCellsAndTimedInStreamOnes) {
  FakeRun run({"slow", "fast"});
  run.device.modes.push_back(record::LaunchMode::kSpaced);
  run.options.launches = run.device.modes;
  std::vector<plan::SelectedVariant> variants = plan::select_variants(run.device.variants(), {});
  variants[1].variant.traits.capturable = false;
  std::vector<record::Measurement> rows;
  bench::RunObserver observer{};
  observer.on_measurement = [&](const record::Measurement& row) { rows.push_back(row); };
  const bench::Clocks clocks = {.clock_s = [&] { return run.device.now_s; }};
  const operation::Operation operation = run.device.operation();
  const auto planned = plan::plan_tensors({fake_source("a")}, run.choice);
  bench::run_benchmark({run.device, operation, planned, variants, run.options, clocks},
                       run.ceilings, observer, run.interrupted);
  ASSERT_EQ(rows.size(), 6u);
  for (const record::Measurement& row : rows) {
    const bool is_skipped = row.variant == "fast" && row.cell.launch != record::LaunchMode::kStream;
    EXPECT_EQ(row.status, is_skipped ? record::Status::kSkipped : record::Status::kPassed)
        << row.variant << to_string(row.cell.launch) << row.reason;
    EXPECT_EQ(row.reason.find("--launch stream") != std::string::npos, is_skipped);
    EXPECT_TRUE(row.verification && row.verification->passed());
  }
  for (const FakeCall& call : run.device.calls_of(FakeCall::Kind::kSample)) {
    EXPECT_FALSE(call.variant == "fast" && call.spec.launch != record::LaunchMode::kStream);
  }
}

}  // namespace
}  // namespace nf4bench
