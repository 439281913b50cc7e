// libnf4 as a peer of the program that it is built with.

#include "cli/process.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace nf4bench::test {
namespace {

using nlohmann::json;

json measured(std::vector<std::string> more) {
  std::vector<std::string> arguments = {
      "run",           "--device", "cpu",     "--no-ceilings", "--max-time",       "0.02",
      "--min-samples", "3",        "--quiet", "--peer",        "nf4=" TEST_LIBNF4, "--variant",
      "nf4",           "--json",   "-"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  const Outcome outcome = Process(nf4bench_command(arguments)).wait();
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  return json::parse(outcome.out);
}

int rows_that_passed(const json& report) {
  int passed = 0;
  for (const json& row : report.at("measurements")) {
    if (row.at("variant") != "nf4") continue;
    EXPECT_EQ(row.at("status"), "passed") << row.at("reason");
    ++passed;
  }
  return passed;
}

TEST(Libnf4Peer, DecodesWhatIsPlainOrNestedBitForBit) {
  for (const char* scales : {"--nested", "--plain"}) {
    const json report = measured({"--shape", "100x77", "--dtype", "float16,bfloat16,float32",
                                  "--cache", "hot,cold", scales});
    EXPECT_EQ(rows_that_passed(report), 6) << scales;
  }
}

TEST(Libnf4Peer, MultipliesWithExactWeights) {
  const json report = measured(
      {"--operation", "matmul", "--shape", "100x77", "--tokens", "1,4,33", "--cache", "hot"});
  EXPECT_EQ(rows_that_passed(report), 3);
  for (const json& row : report.at("measurements")) {
    if (row.at("variant") == "nf4") {
      EXPECT_EQ(row.at("verification").at("accuracy").at("class"), "exact-weights");
    }
  }
}

}  // namespace
}  // namespace nf4bench::test
