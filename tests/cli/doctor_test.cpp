// "nf4bench doctor" from outside. What it finds depends on the machine, but its parts must agree on
// every machine.

#include "cli/outcome.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <csignal>
#include <string>
#include <unistd.h>

namespace nf4bench {
namespace {

using nlohmann::json;
using test::Outcome;
using test::Process;
using testing::AnyOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

// The program finds no CUDA device, and takes the driver's library from tests/doctor.
test::Command without_gpu(const std::vector<std::string>& arguments) {
  test::Command command = test::nf4bench_command(arguments);
  command.environment.emplace_back("CUDA_VISIBLE_DEVICES=");
  command.environment.emplace_back("LD_LIBRARY_PATH=" NF4BENCH_FAKE_NVML_FOLDER);
  return command;
}

TEST(Doctor, PrintsFindingsAsJsonThatAgreeWithTheExitCode) {
  const Outcome outcome = test::nf4bench({"doctor", "--device", "cpu", "--json"});
  ASSERT_THAT(outcome.exit_code, AnyOf(0, 6)) << outcome.err;
  EXPECT_THAT(outcome.err, IsEmpty());
  const json diagnosis = json::parse(outcome.out);
  EXPECT_EQ(diagnosis["schema"], "nf4bench.doctor");
  EXPECT_EQ(diagnosis["device"]["id"], "cpu");
  EXPECT_EQ(diagnosis["verdict"] == "worthless", outcome.exit_code == 6);
  EXPECT_EQ(diagnosis["findings"][0]["severity"] == "worthless", outcome.exit_code == 6);
  const json& aa = diagnosis["aa_run"];
  EXPECT_EQ(aa["variant"], "simd");
  EXPECT_TRUE(aa["failure"].is_null());
  ASSERT_EQ(aa["first_s"].size(), 5u);
  ASSERT_EQ(aa["second_s"].size(), 5u);
  for (const json& median : aa["first_s"]) EXPECT_GT(median, 1e-6);
  EXPECT_GT(aa["noise"]["relative"], 0.0);
  for (const json& finding : diagnosis["findings"]) {
    EXPECT_NE(finding["check"], "cuda") << "nobody asked for a GPU";
  }
}

TEST(Doctor, ExaminesTheCpuForWantOfAGpuAndSaysWhy) {
  const Outcome outcome = Process(without_gpu({"doctor"})).wait();
  ASSERT_THAT(outcome.exit_code, AnyOf(0, 6)) << outcome.err;
  EXPECT_THAT(outcome.err, IsEmpty());
  EXPECT_THAT(outcome.out, testing::StartsWith("cpu: "));
  EXPECT_THAT(outcome.out, HasSubstr("the driver 580.159.04 sees 1 GPU, but:"));
  const std::size_t last = outcome.out.rfind('\n', outcome.out.size() - 2);
  const std::string verdict = outcome.out.substr(last + 1);
  EXPECT_THAT(verdict, testing::StartsWith(outcome.exit_code == 6 ? "verdict: worthless: "
                                                                  : "verdict: doubtful: "));
}

TEST(Doctor, DoesNotTakeTheCpuForAGpuThatWasAskedFor) {
  EXPECT_THAT(Process(without_gpu({"doctor", "--device", "cuda"})).wait(),
              testing::AllOf(test::Ends(5, HasSubstr("--device cpu works anywhere")),
                             test::Prints(IsEmpty())));
}

TEST(Doctor, RefusesADeviceThatIsNone) {
  EXPECT_THAT(test::nf4bench({"doctor", "--device", "tpu"}), test::Ends(2, HasSubstr("tpu")));
}

TEST(Doctor, SaysNothingWhenInterrupted) {
  Process process(test::nf4bench_command({"doctor", "--device", "cpu"}));
  usleep(2'000'000);  // it rests for 1.2 s and measures for 3, at least
  process.send(SIGINT);
  EXPECT_THAT(process.wait(), testing::AllOf(test::Ends(130, HasSubstr("nothing was decided")),
                                             test::Prints(IsEmpty())));
}

}  // namespace
}  // namespace nf4bench
