#include "cli/options/settings.hpp"

#include "cli/options/usage_error.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace nf4bench::cli {
namespace {

using Words = std::vector<std::string>;

OptionView flag(const Words& names, const Words& excluded = {}) {
  OptionView option;
  option.names = names;
  option.facts.value = OptionFacts::Value::kNone;
  option.excluded = excluded;
  return option;
}

Setting on(const OptionView& option) {
  return {
      .option = &option, .name = option.names.back().substr(2), .values = {"true"}, .origin = "x"};
}

// A program with a command that has one option with a short name, and one argument.
std::vector<CommandView> small_program() {
  CommandView program;
  program.options = {flag({"--version"})};
  CommandView command;
  command.name = "draw";
  command.options = {flag({"-q", "--quiet"})};
  OptionView help = flag({"-h", "--help"});
  help.is_settable = false;
  command.options.push_back(help);
  OptionView argument;
  argument.positional = "input";
  command.positionals = {argument};
  return {program, command};
}

TEST(Settings, AnOptionThatIsSetAboveIsNotSetAgain) {
  const OptionView plain = flag({"--plain"});
  const OptionView quiet = flag({"--quiet"});
  const SettledOptions above = {.set = {&plain}, .active = {}};
  const std::vector<Setting> kept = not_overruled({on(plain), on(quiet)}, above);
  ASSERT_EQ(kept.size(), 1U);
  EXPECT_EQ(kept.front().option, &quiet);
}

TEST(Settings, AnOptionThatExcludesAnActiveOneIsNotSet) {
  const OptionView plain = flag({"--plain"}, {"--nested"});
  const OptionView nested = flag({"--nested"}, {"--plain"});
  EXPECT_TRUE(not_overruled({on(plain)}, {.set = {&nested}, .active = {&nested}}).empty());
}

TEST(Settings, AFlagThatIsSwitchedOffAboveExcludesNothing) {
  const OptionView plain = flag({"--plain"}, {"--nested"});
  const OptionView nested = flag({"--nested"}, {"--plain"});
  EXPECT_EQ(not_overruled({on(plain)}, {.set = {&nested}, .active = {}}).size(), 1U);
}

TEST(Settings, LongNamesAndArgumentsCanBeSetButNotWhatTheCommandLineAloneTakes) {
  const CommandView command = small_program().back();
  Words names;
  for (const SettableName& each : settable_names(command)) names.push_back(each.name);
  EXPECT_EQ(names, (Words{"input", "quiet"}));
  EXPECT_TRUE(is_command_line_only(command, "help"));
  EXPECT_FALSE(is_command_line_only(command, "quiet"));
}

TEST(UsageError, NamesTheNearestOptionOfTheCommand) {
  EXPECT_EQ(
      explain_usage_error(small_program(), "", {"nf4bench", "draw", "--quite"}),
      "\"--quite\" is not an option of draw. Did you mean -q, --quiet?; see nf4bench draw --help");
}

TEST(UsageError, RepeatsTheParserWhenEveryWordIsKnown) {
  EXPECT_EQ(explain_usage_error(small_program(), "input is required", {"nf4bench", "draw"}),
            "input is required; see nf4bench draw --help");
}

}  // namespace
}  // namespace nf4bench::cli
