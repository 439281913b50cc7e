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
    kLacking,   // something required is not there; it may be set elsewhere
    kRefused,   // it can never be right
    kAnswered,  // --help or --version: nothing is to be done
  };
  Outcome outcome = Outcome::kParsed;
  std::string text;  // the answer, or what is lacking or wrong; empty when it is parsed
};

// All commands with their options, and what one command line says of them. Parses once: what was
// read is kept. The only class that knows how CLI11 parses.
class Parser {
 public:
  Parser();
  ~Parser();
  Parser(const Parser&) = delete;
  Parser& operator=(const Parser&) = delete;

  ParseResult parse(const std::vector<std::string>& argv);

  // The program and its commands, with what was parsed so far.
  std::vector<CommandView> views() const;

  // Does what the command line asks for. It must have been parsed.
  ExitCode run(const Context& context) const;

 private:
  struct Definition;
  std::unique_ptr<Definition> definition_;
};

}  // namespace nf4bench::cli
