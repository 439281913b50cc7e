#include "cli/options.hpp"

#include <CLI/CLI.hpp>

namespace nf4bench {
namespace {

template <class Target>
Option add(CLI::App& command, Target& target, const OptionText& text) {
  return Option(command.add_option(text.flags, target, text.help)->option_text(text.value));
}

}  // namespace

CLI::App* add_command(CLI::App& app, const char* name, const char* summary, const char* examples) {
  CLI::App* const command = app.add_subcommand(name, summary);
  command->footer(examples);
  return command;
}

Option Option::group(const char* heading) const {
  option_->group(heading);
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

Option Option::environment(const char* variable) const {
  option_->envname(variable);
  return *this;
}

Option Option::between(int low, int high) const {
  option_->check(CLI::Range(low, high));
  return *this;
}

Option Option::between(double low, double high) const {
  option_->check(CLI::Range(low, high));
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

Option add_single(CLI::App& command, std::string& target, const OptionText& text) {
  return add(command, target, text);
}

Option add_single(CLI::App& command, int& target, const OptionText& text) {
  return add(command, target, text);
}

Option add_single(CLI::App& command, double& target, const OptionText& text) {
  return add(command, target, text);
}

Option add_single(CLI::App& command, unsigned long& target, const OptionText& text) {
  return add(command, target, text);
}

Option add_repeated(CLI::App& command, std::vector<std::string>& target, const OptionText& text) {
  // Without this a list option would swallow the positional arguments that follow it.
  return Option(command.add_option(text.flags, target, text.help)
                    ->option_text(text.value)
                    ->allow_extra_args(false));
}

Option add_list(CLI::App& command, std::vector<std::string>& target, const OptionText& text) {
  return Option(command.add_option(text.flags, target, text.help)
                    ->option_text(text.value)
                    ->allow_extra_args(false)
                    ->delimiter(','));
}

Option add_flag(CLI::App& command, const char* flags, bool& target, const char* help) {
  // A blank, or the help would show what the flag excludes and needs beside its name.
  return Option(command.add_flag(flags, target, help)->option_text(" "));
}

AbsmaxFlags add_absmax_flags(CLI::App& command, bool& plain, bool& nested) {
  const AbsmaxFlags flags = {
      add_flag(command, "--plain", plain, "Scales stored as float32"),
      add_flag(command, "--nested", nested, "Scales themselves quantized to 8 bits [default]")};
  flags.plain.excludes(flags.nested);
  return flags;
}

}  // namespace nf4bench
