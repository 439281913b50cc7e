#include "text/sheet.hpp"

#include "text/page.hpp"
#include "text/printers.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace nf4bench {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using text::Unit;

// A new table is its items and its columns, and nothing else anywhere: this file has one.
struct Planet {
  std::string name;
  std::optional<double> day_s{};
  std::int64_t moons = 0;
  std::optional<statistics::Interval> ratio{};
};

text::Columns<Planet> columns() {
  return {
      {{.name = "planet", .key = "name", .least = 6}, [](const Planet& p) { return p.name; }},
      {{.name = "day", .unit = Unit::kSeconds, .rank = 1, .key = "day.length_s"},
       [](const Planet& p) { return p.day_s; }},
      {{.key = "day.known"}, [](const Planet& p) { return text::Value(p.day_s ? true : false); }},
      {{.name = "moons", .rank = 2, .key = "moons", .meaning = "that are named"},
       [](const Planet& p) { return p.moons; }},
      {{.name = "ratio", .unit = Unit::kRatio}, [](const Planet& p) { return p.ratio; }}};
}

std::vector<Planet> planets() {
  return {{"Earth", 86.4e-6, 1}, {"Jupiter", 35.7e-6, 95, statistics::Interval{2.4, 2.5}}};
}

text::Sheet sheet() {
  return text::sheet_of(columns(), planets());
}

TEST(Sheet, FormatsAndAlignsForATerminal) {
  EXPECT_EQ(text::terminal(sheet(), {.width = 0}),
            "planet        day  moons  ratio\n"
            "Earth    86.40 us      1\n"
            "Jupiter  35.70 us     95  [2.400, 2.500]\n"
            "\n"
            "  moons: that are named\n");
}

TEST(Sheet, DropsColumnsByRankThenCutsTexts) {
  const std::vector<int> whole = text::lay_out(sheet(), 0).widths;
  EXPECT_THAT(whole, ElementsAre(7, 8, 0, 5, 14));
  EXPECT_THAT(text::lay_out(sheet(), 40).widths, ElementsAre(7, 8, 0, 5, 14));
  EXPECT_THAT(text::lay_out(sheet(), 39).widths, ElementsAre(6, 8, 0, 5, 14));
  EXPECT_THAT(text::lay_out(sheet(), 38).widths, ElementsAre(7, 8, 0, 0, 14));
  EXPECT_THAT(text::lay_out(sheet(), 29).widths, ElementsAre(7, 0, 0, 0, 14));
  EXPECT_THAT(text::lay_out(sheet(), 1).widths, ElementsAre(6, 0, 0, 0, 14));
}

TEST(Sheet, SaysWhatColumnsMeanThatAreShown) {
  EXPECT_EQ(text::lay_out(sheet(), 38).legend, "");
  EXPECT_EQ(text::lay_out(sheet(), 40).legend, "moons: that are named");
}

TEST(Sheet, LeavesOutColumnsOfWhichNothingIsKnown) {
  text::Sheet unknown = sheet();
  for (text::Row& row : unknown.sections[0].rows) row.cells[1] = text::Value();
  EXPECT_THAT(text::lay_out(unknown, 0).widths, ElementsAre(7, 0, 0, 5, 14));
}

TEST(Sheet, WrapsMessagesBesideTheLeadingColumns) {
  text::Sheet failed = sheet();
  failed.sections[0].rows[0].message = "nobody has seen it in the last four thousand million years";
  failed.sections[0].rows[1].mark = '*';
  EXPECT_EQ(text::terminal(failed, {.width = 44}),
            "  planet        day  moons  ratio\n"
            "  Earth    nobody has seen it in the last\n"
            "           four thousand million years\n"
            "* Jupiter  35.70 us     95  [2.400, 2.500]\n"
            "\n"
            "  moons: that are named\n");
}

TEST(Sheet, GivesTimesThatAreWorldsApartUnitsOfTheirOwn) {
  text::Sheet far = sheet();
  far.sections[0].rows[0].cells[1] = 86.4e-3;
  EXPECT_THAT(text::terminal(far, {.width = 0}), HasSubstr("86.40 ms"));
  far.sections[0].rows[0].cells[1] = 35.6e-3;
  EXPECT_THAT(text::terminal(far, {.width = 0}), HasSubstr("35600.00 us"));
}

TEST(Sheet, RepeatsNoUnitThatTheNameSays) {
  const auto shown = [](const char* name, Unit unit, double value) {
    text::Sheet one = {.columns = {{.name = name, .unit = unit}},
                       .sections = {{.rows = {{.cells = {value}}}}}};
    return text::texts_of(one.columns, one.sections[0])[0][0];
  };
  EXPECT_EQ(shown("% copy", Unit::kFraction, 0.95), "95.0");
  EXPECT_EQ(shown("throttled", Unit::kFraction, 0.95), "95.0 %");
  EXPECT_EQ(shown("GB/s", Unit::kBytesPerSecond, 4.068e12), "4068");
  EXPECT_EQ(shown("clock", Unit::kHertz, 1.98e9), "1980 MHz");
  EXPECT_EQ(shown("change", Unit::kChange, 0.052), "+5.2 %");
  EXPECT_EQ(shown("change", Unit::kChange, 8.12), "+812 %");
  EXPECT_EQ(shown("tokens/s", Unit::kPerSecond, 11.24), "11.2");
}

TEST(Sheet, IsMarkdown) {
  text::Sheet failed = sheet();
  failed.sections[0].title = "All *of* them";
  failed.sections[0].rows[0].message = "lost";
  failed.sections[0].rows[0].tone = text::Tone::kBad;
  failed.sections[0].rows[1].why = "it is large";
  EXPECT_EQ(text::markdown(failed),
            "\n#### All \\*of\\* them\n\n"
            "| planet | day | moons | ratio | why |\n"
            "| --- | ---: | ---: | --- | --- |\n"
            "| **Earth** | lost |  |  |  |\n"
            "| Jupiter | 35.70 us | 95 | \\[2.400, 2.500\\] | it is large |\n");
}

TEST(Sheet, IsHtml) {
  EXPECT_THAT(text::html(sheet()),
              HasSubstr("<tr><td>Jupiter</td><td class=\"number\">35.70 us</td><td "
                        "class=\"number\">95</td><td>[2.400, 2.500]</td></tr>"));
}

TEST(Sheet, IsCsvWithRawNumbers) {
  EXPECT_EQ(text::csv(sheet()),
            "name,day.length_s,day.known,moons\r\n"
            "Earth,8.64e-05,true,1\r\n"
            "Jupiter,3.57e-05,true,95\r\n");
}

TEST(Sheet, IsJsonWithObjectsWithin) {
  text::Sheet some = sheet();
  some.sections[0].rows[1].cells[1] = text::Value();
  some.sections[0].rows[1].cells[2] = text::Value();
  const auto json = nlohmann::json::parse(json_rows(some).text);
  EXPECT_EQ(json[0]["day"], (nlohmann::json{{"length_s", 86.4e-6}, {"known", true}}));
  EXPECT_TRUE(json[1]["day"].is_null());
  EXPECT_EQ(json[1]["moons"], 95);
}

// Names come from files of strangers.
TEST(Sheet, IsHarmlessInEveryForm) {
  text::Sheet evil = text::sheet_of(
      columns(), std::vector<Planet>{{"=a|b<img>\x1b[2J\n`x`@all\xe2\x80\xae", 1.0}});
  evil.sections[0].title = "\x1b]0;title\x07";
  evil.sections[0].rows[0].why = "\x1b[31mred";
  for (const std::string& text : {text::terminal(evil, {.width = 60}), text::markdown(evil),
                                  text::html(evil), text::csv(evil), json_rows(evil).text}) {
    EXPECT_THAT(text, Not(HasSubstr("\x1b")));
    EXPECT_THAT(text, Not(HasSubstr("\x07")));
    EXPECT_THAT(text, Not(HasSubstr("\xe2\x80\xae")));
  }
  EXPECT_THAT(text::markdown(evil), HasSubstr(R"(=a\|b\<img\>\\x1b\[2J\\n\`x\`\@all)"));
  EXPECT_THAT(text::html(evil), HasSubstr("=a|b&lt;img&gt;"));
  EXPECT_THAT(text::csv(evil), HasSubstr("\r\n'=a|b<img>"));
}

TEST(Texts, AreCutInTheMiddleOrAtTheEnd) {
  EXPECT_EQ(text::fitted("abcdef", 6), "abcdef");
  EXPECT_EQ(text::fitted("abcdefg", 6), "abc...");
  EXPECT_EQ(text::fitted("abcdefghijklmn", 12, text::Cut::kMiddle), "abc...ijklmn");
  EXPECT_EQ(text::fitted("\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9", 4), "\xc3\xa9...");
}

TEST(Texts, CountCharactersNotBytes) {
  EXPECT_EQ(text::text_width("bl\xc3\xb6"
                             "cke"),
            6);
}

TEST(Texts, WrapAtBlanks) {
  EXPECT_EQ(text::wrapped("aa bb cc dd", 7, 2), (std::vector<std::string>{"  aa bb", "  cc dd"}));
  EXPECT_EQ(text::wrapped("abcdefghij k", 5, 0), (std::vector<std::string>{"abcdefghij", "k"}));
  EXPECT_TRUE(text::wrapped("", 5, 0).empty());
}

}  // namespace
}  // namespace nf4bench
