#include "cli/commands/run/child_run.hpp"

#include "plan/run_options_json.hpp"

namespace nf4bench::cli {

ChildCommand run_command_for(const record::RunOptions& options,
                             const std::vector<std::string>& environment) {
  return {.arguments = {"nf4bench", "run", "--options=/dev/stdin"},
          .environment = environment,
          .input = plan::run_options_to_json(options)};
}

}  // namespace nf4bench::cli
