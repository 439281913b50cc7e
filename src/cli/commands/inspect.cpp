#include "base/terminal.hpp"
#include "base/text.hpp"
#include "cli/commands/commands.hpp"
#include "cli/shared_options.hpp"
#include "plan/inspection.hpp"

#include <algorithm>
#include <memory>
#include <unistd.h>

namespace nf4bench::cli {
namespace {

constexpr char kExamples[] = R"(Examples:
  The geometries in a file, how often each occurs, and what else the file holds:
    nf4bench inspect data/llama_layer.safetensors
  Every tensor of the MLP:
    nf4bench inspect data/llama_layer.safetensors --all --tensor mlp
  All of it for a script:
    nf4bench inspect data/llama_layer.safetensors --json
Exit code 3 when there is no NF4 tensor or one that cannot be decoded.)";

struct Arguments {
  record::Inputs inputs;
  std::string tensor_regex;
  bool all = false;
  bool json = false;
};

ExitCode show(const Arguments& arguments) {
  const auto [name, checkpoint] = plan::open_input(arguments.inputs);
  const plan::Inspection inspection = plan::inspect(checkpoint, arguments.tensor_regex);
  const Terminal terminal = terminal_of(STDOUT_FILENO);
  if (arguments.json) {
    write_stdout(plan::inspection_json(name, inspection));
  } else if (!inspection.tensors.empty()) {
    write_stdout(plan::inspection_table(inspection, arguments.all, text::listing_style(terminal)));
  }
  const auto& tensors = inspection.tensors;
  if (tensors.empty()) throw Error(ErrorKind::kInput, plan::describe_lack(name, checkpoint));
  const auto unusable =
      std::ranges::count_if(tensors, [](const auto* entry) { return !entry->problem.empty(); });
  if (unusable == 0) return ExitCode::kOk;
  throw Error(ErrorKind::kInput, "{} of {} NF4 tensors in {} cannot be decoded", unusable,
              tensors.size(), escaped(name));
}

}  // namespace

Command inspect_command() {
  const auto a = std::make_shared<Arguments>();
  Command command("inspect", "Show the NF4 tensors of an input: shapes, states, problems",
                  kExamples);
  add_one_input(command, a->inputs);
  command.add("--tensor REGEX", a->tensor_regex,
              "Only tensors whose name has a match of this expression");
  command.add("--all", a->all, "A line for each tensor, not for each geometry");
  command.add("--json", a->json, "Print JSON, with every tensor, instead of a table");
  command.run = [a](const Context&) { return show(*a); };
  return command;
}

}  // namespace nf4bench::cli
