#pragma once

#include "base/error.hpp"
#include "cli/context.hpp"
#include "cli/options/command_view.hpp"

#include <memory>
#include <string>
#include <vector>

namespace nf4bench::cli {

// What came of parsing a command line.
struct ParseResult {
  enum class Outcome {
    kParsed,
    kLacking,   // something is missing that may still be set elsewhere
    kRefused,   // no setting elsewhere can make it right
    kAnswered,  // --help or --version: there is nothing to do but print
  };
  Outcome outcome = Outcome::kParsed;
  std::string text;  // the answer, or what is missing or wrong; empty for kParsed
};

// All commands with their options. Parses one command line and keeps what it read, so that each
// command line needs a parser of its own.
class Parser {
 public:
  Parser();
  ~Parser();
  Parser(const Parser&) = delete;
  Parser& operator=(const Parser&) = delete;

  ParseResult parse(const std::vector<std::string>& argv);

  // The program and its commands, with what was parsed so far.
  std::vector<CommandView> views() const;

  // Runs the command that was parsed.
  ExitCode run(const Context& context) const;

 private:
  struct Definition;
  std::unique_ptr<Definition> definition_;
};

}  // namespace nf4bench::cli
