// "nf4bench site" from outside, on the reports of docs/results.

#include "base/atomic_file.hpp"
#include "cli/outcome.hpp"
#include "source_dir.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <string>
#include <vector>

namespace nf4bench {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using nlohmann::ordered_json;
using test::Outcome;
using test::read_file;
using test::ScratchFolder;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

const std::string kResults = NF4BENCH_SOURCE_DIR "/docs/results/";

class SiteCommand : public testing::Test {
 protected:
  // Copies a report of docs/results into the folder that is read.
  void add(const std::string& report, const std::string& name) const {
    fs::create_directories(fs::path(folder_.path("reports/" + name)).parent_path());
    fs::copy_file(kResults + report, folder_.path("reports/" + name));
  }

  Outcome make(const std::vector<std::string>& more = {}) const {
    std::vector<std::string> words = {"site", folder_.path("reports"), "-o", folder_.path("site")};
    words.insert(words.end(), more.begin(), more.end());
    return test::nf4bench(words);
  }

  std::string page(const std::string& name) const {
    return read_file(folder_.path("site/" + name));
  }

  // What a page draws from.
  json data(const std::string& name) const {
    const std::string text = page(name);
    const std::string start = "<script type=\"application/json\" id=\"data\">";
    const std::size_t begin = text.find(start) + start.size();
    return json::parse(text.substr(begin, text.find("</script>", begin) - begin));
  }

  ScratchFolder folder_;
};

TEST_F(SiteCommand, WritesAPageForEachCardAndOneOfAll) {
  add("h200/plain.json", "plain.json");
  ordered_json other_card = ordered_json::parse(read_file(kResults + "h200/matmul-as80.json"));
  other_card["device"]["state_before"]["throttle_reasons"] = ordered_json::array();
  fs::create_directories(folder_.path("reports/deeper/and/deeper"));
  write_file(folder_.path("reports/deeper/and/deeper/as80.json"), other_card.dump(2));
  ASSERT_THAT(make(),
              testing::AllOf(test::Ends(0, HasSubstr("a page for each of 2 cards, from 2 reports")),
                             test::Prints("")));
  const json index = data("index.html");
  ASSERT_EQ(index["cards"].size(), 2U);
  EXPECT_EQ(index["cards"][0]["file"], "nvidia-h200.html");
  EXPECT_EQ(index["cards"][1]["file"], "nvidia-h200-as-compute-capability-8-0.html");
  EXPECT_THAT(index["cards"][0]["senders"], ElementsAre("vm"));
  EXPECT_THAT(index["cards"][1]["senders"], ElementsAre("deeper"));
  EXPECT_NE(page("index.html").find("<a href=\"nvidia-h200.html\">NVIDIA H200</a>"),
            std::string::npos);
  EXPECT_EQ(data("nvidia-h200.html")["rows"].size(), 8U);
}

TEST_F(SiteCommand, TakesTheNewestBuildAndTheMedianOfItsBoards) {
  add("h200/geometries-one-board.json", "one/report.json");
  add("h200/geometries-other-board.json", "other/report.json");
  const auto find = [&](const std::string& variant) {
    const json card = data("nvidia-h200.html");
    for (const json& row : card["rows"]) {
      if (row["launch"] == "graph" && row["geometry"] == "8192x8192 nested/64" &&
          row["dtype"] == "float16" && row["variant"] == variant) {
        return row;
      }
    }
    return json();
  };
  ASSERT_EQ(make().exit_code, 0);
  const json both = find("fused");
  EXPECT_EQ(both["boards"], 2);
  EXPECT_THAT(both["senders"], ElementsAre("one", "other"));
  EXPECT_DOUBLE_EQ(both["time"],
                   (both["lowest"].get<double>() + both["highest"].get<double>()) / 2);
  EXPECT_NEAR(both["spread"], both["highest"].get<double>() / both["lowest"].get<double>() - 1,
              1e-12);
  add("h200/geometries.json", "new/report.json");
  ASSERT_EQ(make().exit_code, 0) << "replaces its own pages";
  const json newest = find("fused");
  EXPECT_EQ(newest["boards"], 1);
  EXPECT_EQ(newest["build"], "0.1.0 3de8a140 (changed)");
  EXPECT_TRUE(newest["spread"].is_null());
}

// What is printed of reports of H200s where no folder for pages is named.
std::string printed(const std::vector<std::string>& names, const std::string& variants) {
  std::vector<std::string> words = {"site", "--variant", variants};
  for (const std::string& name : names) words.push_back(kResults + "h200/" + name);
  return test::nf4bench(words).out;
}

TEST_F(SiteCommand, PrintsMarkdownWhereThereIsNoFolderForPages) {
  const std::string text = printed({"geometries.json", "launches.json"}, "fused,bitsandbytes");
  EXPECT_THAT(text, HasSubstr("\nNVIDIA H200: 2 reports of 1 board, the newest of 2026-11-22 "));
  EXPECT_THAT(text, HasSubstr("\n| 8192x8192 nested/64 | fused | 42.352 us | 1.846x | "
                              "bitsandbytes | 3987 | 93.8 % | 99.2 % |\n"));
  EXPECT_THAT(text, HasSubstr("\n#### bf16  cold spaced\n"));
  EXPECT_THAT(text, Not(HasSubstr("multi")));
  EXPECT_THAT(printed({"matmul-spaced.json"}, "fus*"),
              HasSubstr("\n| geometry | variant | 1 tok | 8 tok | 64 tok |\n"));
}

TEST_F(SiteCommand, SaysWhatACopyReachesWhereAReportHasIt) {
  const std::string without = kResults + "h100/experts-peers.json";
  EXPECT_THAT(test::nf4bench({"site", without}).out, Not(HasSubstr("copy")));
  add("h200/plain.json", "plain.json");
  EXPECT_THAT(test::nf4bench({"site", folder_.path("reports/plain.json")}).out,
              HasSubstr("; copy 42"));
}

TEST_F(SiteCommand, ShowsBoardsAndBuildsWhereThereAreSeveral) {
  EXPECT_THAT(printed({"geometries-one-board.json", "geometries-other-board.json"}, "fused"),
              HasSubstr(" of stream | boards | spread |\n"));
  EXPECT_THAT(printed({"geometries.json", "matmul-spaced.json"}, "fused"),
              HasSubstr(" of stream | boards | build |\n"));
}

TEST_F(SiteCommand, RefusesAVariantThatNoReportHas) {
  EXPECT_THAT(test::nf4bench({"site", kResults + "h200/plain.json", "--variant", "fusd"}),
              test::Ends(2, HasSubstr("\"fusd\" is none of those in the reports")));
}

TEST_F(SiteCommand, LeavesOutAndNamesWhatCannotBeTrue) {
  add("h200/plain.json", "plain.json");
  add("h200-slowed/beside-another-process.json", "busy.json");
  add("h200/host-time.json", "other.json");
  ordered_json tampered = ordered_json::parse(read_file(kResults + "h200/tails.json"));
  tampered["device"]["multiprocessors"] = 999;
  write_file(folder_.path("reports/tampered.json"), tampered.dump(2));
  const Outcome outcome = make();
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("tampered.json: device: NVIDIA H200: 999 multiprocessors"));
  EXPECT_THAT(outcome.err, HasSubstr("busy.json: the driver held the clocks down"));
  const json index = data("index.html");
  EXPECT_EQ(index["left_out"].size(), 2U);
  EXPECT_EQ(index["about"], "1 report of 1 card");
  EXPECT_NE(page("index.html").find("<td>device: "), std::string::npos);
}

TEST_F(SiteCommand, FailsWhereNoReportCounts) {
  add("h200-slowed/beside-another-process.json", "busy.json");
  EXPECT_EQ(make().exit_code, 3);
  EXPECT_FALSE(fs::exists(folder_.path("site")));
}

TEST_F(SiteCommand, ReplacesNoPageOfOthersUnasked) {
  add("h200/plain.json", "plain.json");
  fs::create_directory(folder_.path("site"));
  write_file(folder_.path("site/nvidia-h200.html"), "<title>my page</title>");
  EXPECT_THAT(make(), test::Ends(2, HasSubstr("nvidia-h200.html")));
  EXPECT_FALSE(fs::exists(folder_.path("site/index.html")));
  EXPECT_EQ(make({"--force"}).exit_code, 0);
}

TEST_F(SiteCommand, SaysOnceWhatAStackIsThereFor) {
  add("h100/experts-peers.json", "experts-peers.json");
  ASSERT_THAT(make(), test::Ends(0));
  EXPECT_THAT(page("nvidia-h100-80gb-hbm3.html"),
              HasSubstr(">128x1536x2048 gate_up top 8 plain/64<"));
}

}  // namespace
}  // namespace nf4bench
