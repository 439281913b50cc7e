#pragma once

#include <CLI/CLI.hpp>

#include <string>

namespace nf4bench::cli {

// Writes --help as wide as the terminal is. A command with common options shows these alone, and
// its footer as far as an empty line, unless all are asked for.
class HelpFormatter final : public CLI::FormatterBase {
 public:
  std::string make_help(const CLI::App* app, std::string name,
                        CLI::AppFormatMode mode) const override;
};

}  // namespace nf4bench::cli
