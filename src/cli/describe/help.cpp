#include "cli/describe/help.hpp"

#include "base/terminal.hpp"
#include "cli/describe/command_view.hpp"
#include "cli/options/command_app.hpp"
#include "text/text_grid.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <sstream>
#include <unistd.h>
#include <vector>

namespace nf4bench::cli {
namespace {

constexpr int kNarrowest = 40;
constexpr int kTextColumn = 26;  // where the texts begin

int width_of_help() {
  constexpr int kUsual = 80;
  const Terminal terminal = terminal_of(STDOUT_FILENO);
  return terminal.has_width ? std::max(terminal.width, kNarrowest) : kUsual;
}

// One entry: what is typed, and what it means.
std::string entry(const std::string& words, const std::string& meaning, int width) {
  std::string lines = "  " + words;
  const bool is_long = lines.size() + 2 > kTextColumn;
  std::vector<std::string> texts = text::wrapped(meaning, width, kTextColumn);
  if (texts.empty()) return lines + "\n";
  if (is_long) return fmt::format("{}\n{}\n", lines, fmt::join(texts, "\n"));
  texts.front().replace(0, lines.size(), lines);
  return fmt::format("{}\n", fmt::join(texts, "\n"));
}

std::string words_of(const OptionView& option) {
  if (option.is_positional()) return option.positional + (option.is_repeatable() ? " ..." : "");
  const char* const more = option.is_list() ? ",..." : option.is_repeatable() ? " ..." : "";
  return fmt::format("{}{}{}{}", fmt::join(option.names, ","), option.is_flag() ? "" : " ",
                     option.value, option.is_flag() ? "" : more);
}

// A heading and what stands below it.
std::string group_of(const std::string& heading, const std::vector<OptionView>& options,
                     int width) {
  std::string lines;
  for (const OptionView& option : options) {
    if (option.group == heading) lines += entry(words_of(option), option.help, width);
  }
  return lines.empty() ? "" : fmt::format("\n{}:\n{}", heading, lines);
}

std::vector<std::string> headings_of(const std::vector<OptionView>& options) {
  std::vector<std::string> headings;
  for (const OptionView& option : options) {
    if (std::ranges::find(headings, option.group) == headings.end()) {
      headings.push_back(option.group);
    }
  }
  return headings;
}

// The common ones, where there are any: the others are only counted.
std::vector<OptionView> shown_options(const CommandView& view, CLI::AppFormatMode mode) {
  std::vector<OptionView> common;
  std::ranges::copy_if(view.options, std::back_inserter(common),
                       [](const OptionView& option) { return option.facts.is_common; });
  if (common.empty() || mode == CLI::AppFormatMode::All) return view.options;
  for (const OptionView& option : view.options) {
    if (option.names.back().starts_with("--help")) common.push_back(option);
  }
  for (OptionView& option : common) option.group = view.options.front().group;
  return common;
}

// Commands stay whole, to be copied.
std::string broken_lines(const std::string& text, int width) {
  std::string lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    const std::size_t indent = std::min(line.find_first_not_of(' '), line.size());
    const std::string words = line.substr(indent);
    const bool is_command = indent >= 4 || words.starts_with("nf4bench ");
    lines +=
        is_command
            ? line
            : fmt::format("{}",
                          fmt::join(text::wrapped(words, width, static_cast<int>(indent)), "\n"));
    lines += "\n";
  }
  return lines;
}

}  // namespace

std::string HelpFormatter::make_help(const CLI::App* app, std::string name,
                                     CLI::AppFormatMode mode) const {
  const auto& command = static_cast<const CommandApp&>(*app);
  const CommandView view = view_of(command);
  const int width = width_of_help();
  std::string text = broken_lines(view.summary, width);
  text += fmt::format("\nUsage: {} [OPTIONS]", name);
  for (const OptionView& each : view.positionals) {
    text += each.is_required ? " " + words_of(each) : fmt::format(" [{}]", words_of(each));
  }
  if (!command.commands().empty()) text += " COMMAND";
  text += "\n";
  if (!view.positionals.empty()) text += "\nArguments:\n";
  for (const OptionView& each : view.positionals) text += entry(words_of(each), each.help, width);
  const std::vector<OptionView> options = shown_options(view, mode);
  for (const std::string& heading : headings_of(options)) text += group_of(heading, options, width);
  if (!command.commands().empty()) text += "\nCommands:\n";
  for (const CommandApp* const each : command.commands()) {
    text += entry(each->get_name(), each->get_description(), width);
  }
  const bool is_whole = options.size() == view.options.size();
  const std::string footer =
      is_whole ? view.footer : view.footer.substr(0, view.footer.find("\n\n"));
  return text + "\n" + broken_lines(footer, width);
}

}  // namespace nf4bench::cli
