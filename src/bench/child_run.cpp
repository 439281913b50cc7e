#include "bench/child_run.hpp"

#include "plan/run_options_json.hpp"

#include <utility>

namespace nf4bench::bench {

ChildCommand run_command_for(const record::RunOptions& options,
                             const std::vector<std::string>& environment) {
  std::vector<std::string> variables = {"NF4BENCH_CONFIG="};
  variables.insert(variables.end(), environment.begin(), environment.end());
  return {.arguments = {"nf4bench", "run", "--options=/dev/stdin"},
          .environment = std::move(variables),
          .input = plan::run_options_to_json(options)};
}

}  // namespace nf4bench::bench
