#pragma once

#include "cli/command.hpp"

#include <string>
#include <vector>

namespace nf4bench::cli {

// What --help prints of one of `commands`, as wide as the terminal is. One with common options
// shows these alone, and its footer as far as an empty line, unless `is_whole`.
std::string help_text(const Command& command, const std::vector<Command>& commands, bool is_whole);

// What is typed for an option: "-o,--output FILE", "--tokens M,...", "input ...".
std::string words_of(const Option& option);

// The manual page nf4bench(1) as roff.
std::string man_page(const std::vector<Command>& commands, const std::string& version);

// Explains in one line why a command line could not be parsed: what is wrong, the nearest command
// or option to a misspelt one, and which help to read. `problem` is the message of the parser.
std::string explain_usage_error(const std::vector<Command>& commands, const std::string& problem,
                                const Words& argv);

}  // namespace nf4bench::cli
