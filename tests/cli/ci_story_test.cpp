// What a CI job does with the program, from the first baseline to a fixed regression, on real
// measurements of the CPU device.

#include "base/atomic_file.hpp"
#include "cli/outcome.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace nf4bench {
namespace {

using nlohmann::json;
using test::Outcome;
using test::ScratchFolder;
using testing::HasSubstr;

class CiStory : public testing::Test {
 protected:
  // Measures `variant` on one thread: other work on the machine disturbs that least.
  std::string measure(const std::string& variant, const std::string& name) const {
    std::string path = folder.path(name);
    EXPECT_THAT(
        test::nf4bench({"run",           "--device",   "cpu",       "--threads", "1",
                        "--shape",       "256x512",    "--variant", variant,     "--baseline",
                        "none",          "--max-time", "0.5",       "--cache",   "hot",
                        "--no-ceilings", "--quiet",    "--force",   "--json",    path}),
        test::Ends(0));
    json report = json::parse(test::read_file(path));
    for (json& row : report["measurements"]) row["load"] = nullptr;  // other tests are no news
    write_file(path, report.dump());
    return path;
  }

  // A commit that makes "simd" slow: it does what "reference" does, and is measured doing it.
  std::string measure_slowed_simd(const std::string& name) const {
    json report = json::parse(test::read_file(measure("reference", name)));
    for (json& row : report["measurements"]) row["variant"] = "simd";
    write_file(folder.path(name), report.dump());
    return folder.path(name);
  }

  // The machine that runs the tests is busy, so its noise is stated as high.
  Outcome gate(const std::string& report, const std::vector<std::string>& more = {}) const {
    std::vector<std::string> arguments = {
        "compare", report, "--baseline",  "main", "--baseline-dir", store, "--gate",
        "--noise", "20%",  "--threshold", "95%"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return test::nf4bench(arguments);
  }

  // Of "simd" as it is. A neighbour on a shared machine may slow a whole run down, though not
  // three.
  Outcome gate_until_quiet(const std::string& name,
                           const std::vector<std::string>& more = {}) const {
    Outcome outcome = gate(measure("simd", name), more);
    for (int i = 1; i < 3 && outcome.exit_code == 1; ++i)
      outcome = gate(measure("simd", name), more);
    return outcome;
  }

  ScratchFolder folder;
  std::string store = folder.path("baselines");
};

TEST_F(CiStory, ASlowdownFailsTheGateUntilItIsFixed) {
  const std::string first = measure("simd", "first.json");
  EXPECT_EQ(gate(first).exit_code, 7) << "there is no baseline yet";
  ASSERT_EQ(test::nf4bench({"compare", first, "--save-baseline", "main", "--baseline-dir", store})
                .exit_code,
            0);
  EXPECT_EQ(gate(first).exit_code, 1) << "the baseline itself is no new measurement";

  EXPECT_THAT(gate_until_quiet("unchanged.json"), test::Ends(0));

  const std::string slowed = measure_slowed_simd("slowed.json");
  EXPECT_THAT(gate(slowed, {"--format", "markdown"}),
              testing::AllOf(test::Ends(1), test::Prints(HasSubstr("| **SLOWER** | simd |"))));

  const std::string again = measure_slowed_simd("again.json");
  EXPECT_THAT(gate(slowed, {"--confirm", "cp '" + again + "' \"$NF4BENCH_CONFIRM_JSON\""}),
              test::Ends(1));

  EXPECT_THAT(gate_until_quiet("fixed.json", {"--save-baseline", "main"}), test::Ends(0));
}

TEST_F(CiStory, ARunThatMeasuredNothingFailsTheGate) {
  const std::string first = measure("simd", "first.json");
  ASSERT_EQ(test::nf4bench({"compare", first, "--save-baseline", "main", "--baseline-dir", store})
                .exit_code,
            0);
  const std::string other = measure("lut", "other.json");
  EXPECT_THAT(gate(other), testing::AllOf(test::Ends(1), test::Prints(HasSubstr("MISSING"))));
}

// The confirming command is a real run, as docs tell people to use it.
TEST_F(CiStory, ADoubtIsSettledByAnotherRunOfTheProgram) {
  const std::string first = measure("simd", "first.json");
  ASSERT_EQ(test::nf4bench({"compare", first, "--save-baseline", "main", "--baseline-dir", store})
                .exit_code,
            0);
  const Outcome outcome = gate(measure_slowed_simd("slowed.json"),
                               {"--json", "--confirm",
                                test::nf4bench_command({}).arguments[0] +
                                    " run --device cpu --threads 1 --shape 256x512 --variant "
                                    "\"$NF4BENCH_CONFIRM_VARIANTS\" --baseline none --max-time 0.5 "
                                    "--cache hot --no-ceilings "
                                    "--quiet --json \"$NF4BENCH_CONFIRM_JSON\" && sed -i "
                                    "'s/\"disturbed\": true/\"disturbed\": false/' "
                                    "\"$NF4BENCH_CONFIRM_JSON\""});
  // One slow run and one normal run do not prove a slowdown.
  EXPECT_EQ(outcome.exit_code, 6) << outcome.out;
  const json result = json::parse(outcome.out);
  EXPECT_EQ(result["new"].size(), 2u);
  EXPECT_EQ(result["counts"]["UNSURE"], 1);
}

}  // namespace
}  // namespace nf4bench
