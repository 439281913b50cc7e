#pragma once

#include "base/error.hpp"
#include "check/check.hpp"
#include "cli/command.hpp"
#include "report/report.hpp"

#include <string>
#include <vector>

namespace nf4bench::cli {

// Reports that commands look for in folders, too.

// The argument "input" of a command that reads them.
void add_report_inputs(Command& command, Words& inputs);

// The .json files at or below `input`, in alphabetic order; `input` itself when it is no folder.
// Throws Error(kInput) for a folder that cannot be listed.
std::vector<std::string> json_files(const std::string& input);

// The first bytes of the regular file at `path`, which tell what it holds; empty where it is none.
std::string beginning_of(const std::string& path);

// That `inputs` hold none.
Error no_report(const std::vector<std::string>& inputs);

struct CheckedReports {
  std::vector<report::NamedReport> reports;  // that could be read
  std::vector<check::Checked> checked;       // those that could not, then each of `reports`
};

// All reports in `inputs`, files and folders, and what speaks against each. A folder may hold other
// JSON, too, which stderr names. What cannot be opened is thrown, and so is that there is no
// report.
CheckedReports read_and_check(const std::vector<std::string>& inputs);

}  // namespace nf4bench::cli
