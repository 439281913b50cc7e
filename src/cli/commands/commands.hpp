#pragma once

#include "cli/command.hpp"
#include "record/run_options.hpp"

namespace nf4bench::cli {

// Every command, declared in the file of its name. A new one is a line here and in all_commands().
Command run_command();
Command try_command();
Command tries_command();
Command list_command();
Command inspect_command();
Command synth_command();
Command dequantize_command();
Command compare_command();
Command history_command();
Command merge_command();
Command fleet_command();
Command check_command();
Command site_command();
Command export_command();
Command doctor_command();
Command completion_command();
Command man_command();

// Of run: loads, verifies, times and reports.
ExitCode run_on_one(const record::RunOptions& options, const Context& context);

}  // namespace nf4bench::cli
