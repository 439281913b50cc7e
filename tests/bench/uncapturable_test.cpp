// Variants whose launches can not be recorded in a graph.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "bench/fake_run.hpp"

namespace nf4bench {
namespace {

TEST(Uncapturable, IsVerifiedButSkippedInGraphCellsAndTimedInStreamOnes) {
  FakeRun run({"slow", "fast"});
  run.options.launches = {LaunchMode::kGraph, LaunchMode::kStream};
  std::vector<SelectedVariant> variants = select_variants(run.device.variants(), {});
  variants[1].variant.traits.capturable = false;
  std::vector<Measurement> rows;
  RunObserver observer{};
  observer.on_measurement = [&](const Measurement& row) { rows.push_back(row); };
  observer.clock_s = [&] { return run.device.now_s; };
  run_benchmark(run.device, plan_tensors({fake_source("a")}, run.choice), variants, run.ceilings,
                run.options, observer, run.interrupted);
  ASSERT_EQ(rows.size(), 4u);
  for (const Measurement& row : rows) {
    const bool is_skipped = row.variant == "fast" && row.launch == LaunchMode::kGraph;
    EXPECT_EQ(row.status, is_skipped ? Status::kSkipped : Status::kPassed)
        << row.variant << to_string(row.launch) << row.reason;
    EXPECT_EQ(row.reason.find("--launch stream") != std::string::npos, is_skipped);
    EXPECT_TRUE(row.verification && row.verification->is_exact());
  }
  for (const FakeCall& call : run.device.calls_of(FakeCall::Kind::kSample)) {
    EXPECT_FALSE(call.variant == "fast" && call.spec.launch == LaunchMode::kGraph);
  }
}

}  // namespace
}  // namespace nf4bench
