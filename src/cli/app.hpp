#pragma once

namespace nf4bench::cli {

// Sets the process up, parses the command line, runs the command and returns the exit code of the
// process. This is the only place that catches errors and prints them, as one line on stderr.
int run_app(int argc, char** argv);

}  // namespace nf4bench::cli
