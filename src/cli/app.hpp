#pragma once

namespace nf4bench::cli {

// Parses the command line, runs the subcommand and returns the process's exit code. Errors are
// caught here, and only here, and printed as one line on stderr.
int run_app(int argc, char** argv);

}  // namespace nf4bench::cli
