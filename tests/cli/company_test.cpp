// "nf4bench run --check-company" from outside, with variants whose time depends on their company.

#include "cli/outcome.hpp"
#include "faults/short_run.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

namespace nf4bench::test {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class Company : public testing::Test {
 protected:
  // A run of a companion and of a variant that depends on it as `script` says.
  Command command(const std::string& script, const std::vector<std::string>& more = {}) const {
    std::vector<std::string> all = {"--peer", "mine=" TEST_PEER_SCRIPTED, "--shape", "64x64",
                                    "--check-company"};
    all.insert(all.end(), more.begin(), more.end());
    if (more.empty()) all.insert(all.end(), {"--variant", "mine*"});
    Command made = nf4bench_command(short_run(path(), all));
    made.environment.push_back("NF4BENCH_TEST_PEER=" + script);
    return made;
  }

  Outcome run(const std::string& script, const std::vector<std::string>& more = {}) const {
    return Process(command(script, more)).wait();
  }

  json row(const std::string& variant) const {
    const json report = report_at(path());
    for (const json& each : report.at("measurements")) {
      if (each.at("variant") == variant) return each;
    }
    return {};
  }

  std::vector<std::string> warnings() const { return report_at(path()).at("warnings"); }
  std::string path() const { return scratch_.path("report.json"); }

  ScratchFolder scratch_;
};

TEST_F(Company, AVariantThatItSlowsIsNamedWithBothTimes) {
  const Outcome outcome =
      run("company_slows", {"--variant", "mine*", "--min-samples", "25", "--max-time", "10"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  const json slowed = row("mine.other");
  const auto in_company = slowed.at("time_s").at("median").get<double>();
  const auto alone = slowed.at("alone_s").at("median").get<double>();
  EXPECT_GT(in_company, 5e-3);
  EXPECT_GT(alone, 0.5e-3);
  EXPECT_LT(alone, in_company / 1.5);
  EXPECT_THAT(outcome.out, HasSubstr("company: mine.other at t0"));
}

TEST_F(Company, IsNotLookedAtUnlessAsked) {
  EXPECT_EQ(nf4bench(short_run(path(), {"--shape", "64x64"})).exit_code, 0);
  EXPECT_TRUE(row("simd").at("alone_s").is_null());
}

TEST_F(Company, EveryVariantIsMeasuredAloneInEachCell) {
  EXPECT_THAT(
      nf4bench(short_run(path(), {"--variant", "multi_pass,simd", "--shape", "64x64", "--shape",
                                  "32x64", "--dtype", "float16,float32", "--check-company"})),
      Ends(0));
  const json report = report_at(path());
  EXPECT_EQ(report.at("complete"), true);
  EXPECT_EQ(report.at("measurements").size(), 8u);
  for (const json& each : report.at("measurements")) {
    EXPECT_GT(each.at("alone_s").at("median").get<double>(), 0.0);
    const json& interval = each.at("alone_s").at("ci95");  // too few samples have none
    EXPECT_TRUE(interval.is_null() || interval.size() == 2u) << interval;
    EXPECT_TRUE(each.at("alone_s").at("sm_clock_hz").is_null());  // of a CPU
  }
}

TEST_F(Company, AVariantThatFailsAloneIsAWarning) {
  EXPECT_THAT(run("company_saves"), Ends(0));
  EXPECT_THAT(warnings(), Contains(AllOf(HasSubstr("mine.other could not be measured alone"),
                                         HasSubstr("signal 11"))));
  EXPECT_TRUE(row("mine.other").at("alone_s").is_null());
  EXPECT_FALSE(row("mine.companion").at("alone_s").is_null());
}

// The processes of the check must not check company in turn, write reports, or take other options
// than the run did.
TEST_F(Company, AConfigurationFileMayAskForTheCheck) {
  const std::string config = scratch_.path("bench.toml");
  std::ofstream(config) << "[run]\ncheck-company = true\nvariant = [\"simd\", \"lut\"]\n"
                        << "shape = \"64x64\"\nquiet = true\njson = \"" << path() << "\"\n";
  const Outcome outcome =
      nf4bench({"run", "--config", config, "--device", "cpu", "--cache", "hot", "--max-time",
                "0.01", "--min-samples", "3", "--no-ceilings", "--baseline", "none"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out + outcome.err, IsEmpty());
  EXPECT_FALSE(row("simd").at("alone_s").is_null());
  EXPECT_EQ(report_at(path()).at("measurements").size(), 2u);
}

TEST_F(Company, NoProcessOfTheCheckWarnsOfTheOneThatWaitsForIt) {
  Command checked = command("company");
  checked.environment.push_back("NF4BENCH_LOCKS=" + scratch_.path(""));
  EXPECT_THAT(Process(checked).wait().err, Not(HasSubstr("another nf4bench run")));
  EXPECT_THAT(warnings(), Each(Not(HasSubstr("another nf4bench run"))));
}

// The program has started one for its check.
bool has_child(const Process& process) {
  const std::string id = std::to_string(process.pid());
  return !read_file("/proc/" + id + "/task/" + id + "/children").empty();
}

// Alone the second one would take half a minute.
TEST_F(Company, ASignalEndsTheCheckAndKeepsTheTimes) {
  Process process(command("company_speeds", {"--in-process", "--variant", "mine*", "--min-samples",
                                             "300", "--max-time", "600", "--precision", "1"}));
  bool had_child = false;
  for (int i = 0; i < 4000 && !had_child; ++i) {
    had_child = has_child(process);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  ASSERT_TRUE(had_child);
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  const auto sent = std::chrono::steady_clock::now();
  process.send(SIGTERM);
  const Outcome outcome = process.wait();
  EXPECT_LT(std::chrono::steady_clock::now() - sent, std::chrono::seconds(20));
  EXPECT_EQ(outcome.exit_code, 143) << outcome.err;
  const json report = report_at(path());
  EXPECT_EQ(report.at("complete"), false);
  EXPECT_EQ(report.at("measurements").size(), 2u);
}

}  // namespace
}  // namespace nf4bench::test
