#include "cli/options.hpp"

#include <CLI/CLI.hpp>

namespace nf4bench {
namespace {

template <class Target>
CLI::Option* add(CLI::App& command, Target& target, const OptionText& text) {
  return command.add_option(text.flags, target, text.help)->option_text(text.value);
}

}  // namespace

CLI::Option* add_single(CLI::App& command, std::string& target, const OptionText& text) {
  return add(command, target, text);
}

CLI::Option* add_single(CLI::App& command, int& target, const OptionText& text) {
  return add(command, target, text);
}

CLI::Option* add_single(CLI::App& command, double& target, const OptionText& text) {
  return add(command, target, text);
}

CLI::Option* add_single(CLI::App& command, unsigned long& target, const OptionText& text) {
  return add(command, target, text);
}

CLI::Option* add_repeated(CLI::App& command, std::vector<std::string>& target,
                          const OptionText& text) {
  // Without this a list option would swallow the positional arguments that follow it.
  return add(command, target, text)->allow_extra_args(false);
}

CLI::Option* add_list(CLI::App& command, std::vector<std::string>& target, const OptionText& text) {
  return add_repeated(command, target, text)->delimiter(',');
}

AbsmaxFlags add_absmax_flags(CLI::App& command, bool& plain, bool& nested) {
  // A blank instead of CLI11's own "Excludes: ..." in the help.
  const AbsmaxFlags flags = {
      command.add_flag("--plain", plain, "Scales stored as float32")->option_text(" "),
      command.add_flag("--nested", nested, "Scales themselves quantized to 8 bits [default]")
          ->option_text(" ")};
  flags.plain->excludes(flags.nested);
  return flags;
}

}  // namespace nf4bench
