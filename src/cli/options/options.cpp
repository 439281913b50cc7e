#include "cli/options/options.hpp"

#include "cli/options/command_app.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cstdint>
#include <memory>
#include <utility>

namespace nf4bench::cli {
namespace {

Option with_facts(CLI::App& command, CLI::Option* option, OptionFacts facts) {
  OptionFacts& kept = static_cast<CommandApp&>(command).facts_of(option);
  kept = std::move(facts);
  return {option, kept};
}

template <class Target>
Option add(CLI::App& command, Target& target, const OptionText& text, OptionFacts::Value value) {
  CLI::Option* const option = command.add_option(text.flags, target, text.help);
  return with_facts(command, option->option_text(text.value), {.value = value});
}

// What `option` shows for its value, without swallowing the positional arguments that follow it.
CLI::Option* in_steps(CLI::Option* option, const OptionText& text) {
  return option->option_text(text.value)->allow_extra_args(false);
}

CLI::Option* add_many(CLI::App& command, std::vector<std::string>& target, const OptionText& text) {
  return in_steps(command.add_option(text.flags, target, text.help), text);
}

// CLI11's own range check lets NaN pass.
CLI::Validator is_between(double low, double high) {
  return CLI::Validator(
      [low, high](const std::string& word) {
        double value = 0.0;
        const char* const end = word.data() + word.size();
        const auto [last, error] = std::from_chars(word.data(), end, value);
        if (error == std::errc() && last == end && value >= low && value <= high) {
          return std::string();
        }
        return fmt::format("found {}, wanted a number from {} to {}", word, low, high);
      },
      "");
}

}  // namespace

CLI::App* add_command(CLI::App& app, const char* name, const char* summary, const char* examples) {
  const auto command = std::make_shared<CommandApp>(summary);
  command->name(name);
  command->footer(examples);
  return app.add_subcommand(command);
}

Option Option::group(const char* heading) const {
  option_->group(heading);
  return *this;
}

Option Option::common() const {
  facts_->is_common = true;
  return *this;
}

Option Option::required() const {
  option_->required();
  return *this;
}

Option Option::takes_all() const {
  option_->allow_extra_args(true);
  return *this;
}

Option Option::command_line_only() const {
  option_->configurable(false);
  return *this;
}

Option Option::environment(const char* variable) const {
  facts_->variable = variable;
  return *this;
}

Option Option::between(int low, int high) const {
  option_->check(CLI::Range(low, high));
  return *this;
}

Option Option::between(double low, double high) const {
  option_->check(is_between(low, high));
  return *this;
}

Option Option::excludes(const Option& other) const {
  option_->excludes(other.option_);
  return *this;
}

Option Option::needs(const Option& other) const {
  option_->needs(other.option_);
  return *this;
}

Option Option::files() const {
  facts_->names_files = true;
  return *this;
}

Option Option::may_be_number() const {
  facts_->may_be_number = true;
  return *this;
}

Option Option::suggests(const std::vector<std::string>& words) const {
  facts_->choices = words;
  return *this;
}

Option Option::one_of(const std::vector<std::string>& words) const {
  facts_->takes_only_choices = true;
  return suggests(words);
}

Option add_single(CLI::App& command, std::string& target, const OptionText& text) {
  return add(command, target, text, OptionFacts::Value::kText);
}

Option add_single(CLI::App& command, int& target, const OptionText& text) {
  return add(command, target, text, OptionFacts::Value::kInteger);
}

Option add_single(CLI::App& command, double& target, const OptionText& text) {
  return add(command, target, text, OptionFacts::Value::kNumber);
}

Option add_single(CLI::App& command, unsigned long& target, const OptionText& text) {
  return add(command, target, text, OptionFacts::Value::kInteger);
}

Option add_single(CLI::App& command, const std::function<void(const std::string&)>& take,
                  const OptionText& text) {
  CLI::Option* const option = command.add_option_function<std::string>(text.flags, take, text.help);
  return with_facts(command, option->option_text(text.value), {});
}

Option add_repeated(CLI::App& command, std::vector<std::string>& target, const OptionText& text) {
  return with_facts(command, add_many(command, target, text),
                    {.count = OptionFacts::Count::kRepeated});
}

Option add_list(CLI::App& command, std::vector<std::string>& target, const OptionText& text) {
  return with_facts(command, add_many(command, target, text)->delimiter(','),
                    {.count = OptionFacts::Count::kList});
}

Option add_list(CLI::App& command, const std::function<void(const std::vector<std::string>&)>& take,
                const OptionText& text) {
  CLI::Option* const option =
      command.add_option_function<std::vector<std::string>>(text.flags, take, text.help);
  return with_facts(command, in_steps(option, text)->delimiter(','),
                    {.count = OptionFacts::Count::kList});
}

Option add_flag(CLI::App& command, const char* flags, bool& target, const char* help) {
  return with_facts(command, command.add_flag(flags, target, help),
                    {.value = OptionFacts::Value::kNone});
}

Option add_flag(CLI::App& command, const char* flags, std::function<void()> take,
                const char* help) {
  const auto take_if_on = [take = std::move(take)](std::int64_t count) {
    if (count > 0) take();
  };
  return with_facts(command, command.add_flag_function(flags, take_if_on, help),
                    {.value = OptionFacts::Value::kNone});
}

void add_help_all(CLI::App& command) {
  command.set_help_all_flag("--help-all", "All options");
}

AbsmaxFlags add_absmax_flags(CLI::App& command, nf4::AbsmaxKind& kind) {
  const auto choose = [&kind](nf4::AbsmaxKind chosen) {
    return [&kind, chosen] { kind = chosen; };
  };
  const AbsmaxFlags flags = {
      add_flag(command, "--plain", choose(nf4::AbsmaxKind::kPlain), "Scales stored as float32"),
      add_flag(command, "--nested", choose(nf4::AbsmaxKind::kNested),
               "Scales themselves quantized to 8 bits [default]")};
  flags.plain.excludes(flags.nested);
  return flags;
}

}  // namespace nf4bench::cli
