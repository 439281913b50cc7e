#include "exports/export.hpp"
#include "exports/exported.hpp"
#include "exports/rows.hpp"
#include "report/sample_reports.hpp"

#include <gmock/gmock.h>

#include <set>
#include <string>

namespace nf4bench {
namespace {

using exports::Format;

// What a new export takes: a function, and its line in a list.
void to_shout(const record::Report& report, exports::ActionMetric /*metric*/,
              const json::TextSink& sink) {
  for (const exports::ExportRow& row : exports::export_rows(report)) sink(row.name + "!\n");
}

std::string written(const Format& format, const record::Report& report) {
  return test::exported(format.write, report, exports::ActionMetric::kTime);
}

// What the command asks of every format, a new one too.
TEST(Formats, CanBeToldFromEachOther) {
  std::vector<Format> formats = exports::formats();
  formats.push_back({"shout", to_shout, {"/cold/graph!\n"}});
  std::set<std::string> names;
  for (const Format& format : formats) {
    EXPECT_TRUE(names.insert(format.name).second) << format.name;
    const std::string beginning = written(format, gpu_report()).substr(0, 4096);
    for (const Format& other : formats) {
      EXPECT_EQ(is_of(other, beginning), std::string_view(format.name) == other.name)
          << other.name << " in " << format.name;
    }
  }
}

TEST(Formats, TakeAReportOfNothing) {
  for (const Format& format : exports::formats()) {
    EXPECT_NO_THROW(written(format, record::Report())) << format.name;
  }
}

}  // namespace
}  // namespace nf4bench
