#include "exports/exported.hpp"
#include "record/leaves.hpp"
#include "report/sample_reports.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <string>

namespace nf4bench {
namespace {

using test::exported;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// The first line of the export when the first row's variant is called `name`.
std::string line_with(const std::string& name) {
  record::Report report = gpu_report();
  report.measurements.resize(1);
  report.measurements[0].variant = name;
  const std::string text = exported(exports::to_csv, report);
  return text.substr(text.find("\r\n") + 2);
}

TEST(Csv, HoldsNothingThatASpreadsheetWouldRun) {
  for (const std::string formula :
       {"=1+1", "+1", "-1", "@SUM(A1)", " =1+1", "\uff1d1", "\uff0b1", "\uff0d1", "\uff201"}) {
    EXPECT_THAT(line_with(formula), HasSubstr(",'" + formula + ",")) << formula;
  }
  EXPECT_THAT(line_with("=cmd|' /C calc'!A0;=1"), HasSubstr(",\"'=cmd|' /C calc'!A0;=1\","));
  EXPECT_THAT(line_with("=\"a\""), HasSubstr(",\"'=\"\"a\"\"\","));
  EXPECT_THAT(line_with("a=1"), HasSubstr(",a=1,"));
  EXPECT_THAT(line_with("'x"), HasSubstr(",'x,"));
}

TEST(Csv, HoldsNothingThatATerminalWouldActOn) {
  EXPECT_THAT(line_with("a\x1b[2J\t\r\n=1\xc2\x9b\xe2\x80\xae\xff"),
              HasSubstr(R"(,a\x1b[2J\t\r\n=1\u009b\u202e\xff,)"));
  EXPECT_THAT(line_with("\t=1"), HasSubstr(R"(,\t=1,)"));
  EXPECT_THAT(line_with("\r=1"), HasSubstr(R"(,\r=1,)"));
}

TEST(Csv, KeepsNegativeNumbersAsNumbers) {
  record::Report report = gpu_report();
  report.measurements.resize(1);
  report.measurements[0].bytes_per_s = -2.5;
  EXPECT_THAT(exported(exports::to_csv, report),
              AllOf(HasSubstr(",-2.5,"), Not(HasSubstr("'-2.5"))));
}

// Columns keep their place; fields that are named nowhere else stand behind them.
TEST(Csv, HasEveryFieldOfAMeasurement) {
  const std::string text = exported(exports::to_csv, gpu_report());
  const std::string names = "," + text.substr(0, text.find("\r\n")) + ",";
  EXPECT_THAT(names, testing::StartsWith(",tensor,tensor_name,shape,elements,blocksize,absmax,"));
  EXPECT_THAT(names, HasSubstr(",samples,median_s,ci95_low_s,ci95_high_s,mean_s,min_s,p05_s,"));
  EXPECT_THAT(names, HasSubstr(",doubt,device_name,started_at,verification_compared,"));
  record::each_leaf(record::Measurement(), [&](std::string path, const record::Leaf&) {
    std::ranges::replace(path, '.', '_');
    if (path.starts_with("time_s") || path.starts_with("speedup") || path == "load_others") return;
    EXPECT_THAT(names, HasSubstr("," + path + ","));
  });
}

TEST(Csv, KeepsQuotesAndBackslashes) {
  EXPECT_THAT(line_with("a\\\"b\""), HasSubstr(",\"a\\\"\"b\"\"\","));
}

}  // namespace
}  // namespace nf4bench
