#pragma once

#include "base/error.hpp"

#include <memory>
#include <string>
#include <vector>

namespace nf4bench::cli {

// All commands with their options. Reads one command line.
class Parser {
 public:
  Parser();
  ~Parser();
  Parser(const Parser&) = delete;
  Parser& operator=(const Parser&) = delete;

  // Reads `argv`, then what the environment says and it does not, then what the configuration file
  // says and neither of them does. Returns the answer to --help or --version, after which there is
  // nothing to do but print it; else nothing. Throws Error(kUsage).
  std::string parse(const std::vector<std::string>& argv);

  // Runs the command that was parsed. An Error(kUsage) says where its options were set.
  ExitCode run() const;

 private:
  struct Definition;
  std::unique_ptr<Definition> definition_;
};

}  // namespace nf4bench::cli
