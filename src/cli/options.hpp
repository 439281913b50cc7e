#pragma once

#include <string>
#include <vector>

// CLI11's classes, so that headers need not include it.
namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace nf4bench {

// Declares options the same way in every command; only command files and app.cpp use these.

// How an option looks in the help: what it is called, what its value stands for, what it does.
struct OptionText {
  const char* flags;  // "-o,--output"
  const char* value;  // "FILE"; how the help shows the value
  std::string help;
};

// An option given at most once, with one value.
CLI::Option* add_single(CLI::App& command, std::string& target, const OptionText& text);
CLI::Option* add_single(CLI::App& command, int& target, const OptionText& text);
CLI::Option* add_single(CLI::App& command, double& target, const OptionText& text);
CLI::Option* add_single(CLI::App& command, unsigned long& target, const OptionText& text);

// An option that may be repeated, with one value each time.
CLI::Option* add_repeated(CLI::App& command, std::vector<std::string>& target,
                          const OptionText& text);

// The same, and each value may be a comma-separated list.
CLI::Option* add_list(CLI::App& command, std::vector<std::string>& target, const OptionText& text);

// The flags --plain and --nested, which exclude each other; nested is the default.
struct AbsmaxFlags {
  CLI::Option* plain = nullptr;
  CLI::Option* nested = nullptr;
};
AbsmaxFlags add_absmax_flags(CLI::App& command, bool& plain, bool& nested);

}  // namespace nf4bench
