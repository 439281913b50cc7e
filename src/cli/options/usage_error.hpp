#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

namespace nf4bench::cli {

// One line for people about a command line that could not be parsed: what was wrong with it, the
// nearest command or option for a misspelt one, and which help to read.
std::string explain_usage_error(const CLI::App& app, const CLI::ParseError& error,
                                const std::vector<std::string>& argv);

}  // namespace nf4bench::cli
