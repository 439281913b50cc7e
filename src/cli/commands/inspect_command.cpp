#include "cli/commands/inspect_command.hpp"

#include "base/terminal.hpp"
#include "base/text.hpp"
#include "cli/commands/input_options.hpp"
#include "cli/commands/inspect_table.hpp"
#include "plan/name_filter.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
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

Inspection inspect(const io::Checkpoint& checkpoint, const std::string& regex) {
  const plan::NameFilter filter(regex);
  Inspection inspection = {.tensors = {}, .others = plan::count_others(checkpoint, filter)};
  for (const io::TensorEntry& entry : checkpoint.tensors()) {
    if (filter.selects(entry.name)) inspection.tensors.push_back(&entry);
  }
  if (inspection.tensors.empty() && !checkpoint.tensors().empty()) {
    throw plan::nothing_selected(regex, {&checkpoint});
  }
  return inspection;
}

}  // namespace

CLI::App* add_inspect_command(CLI::App& app, InspectArguments& arguments) {
  CLI::App* command = add_command(
      app, "inspect", "Show the NF4 tensors of an input: shapes, states, problems", kExamples);
  add_one_input(*command, arguments.input, arguments.inputs);
  add_single(*command, arguments.tensor_regex,
             {"--tensor", "REGEX", "Only tensors whose name has a match of this expression"});
  add_flag(*command, "--all", arguments.all, "A line for each tensor, not for each geometry");
  add_flag(*command, "--json", arguments.json, "Print JSON, with every tensor, instead of a table");
  return command;
}

ExitCode execute(const InspectArguments& arguments, const Context&) {
  const auto [name, checkpoint] = plan::open_input(inputs_of(arguments.input, arguments.inputs));
  const Inspection inspection = inspect(checkpoint, arguments.tensor_regex);
  const Terminal terminal = terminal_of(STDOUT_FILENO);
  if (arguments.json) {
    write_stdout(inspect_json(name, inspection));
  } else if (!inspection.tensors.empty()) {
    write_stdout(inspect_table(inspection, arguments.all, text::listing_style(terminal)));
  }
  const auto& tensors = inspection.tensors;
  if (tensors.empty()) throw Error(ErrorKind::kInput, plan::describe_lack(name, checkpoint));
  const auto unusable = std::count_if(tensors.begin(), tensors.end(),
                                      [](const auto* entry) { return !entry->problem.empty(); });
  if (unusable == 0) return ExitCode::kOk;
  throw Error(ErrorKind::kInput, fmt::format("{} of {} NF4 tensors in {} cannot be decoded",
                                             unusable, tensors.size(), escaped(name)));
}

}  // namespace nf4bench::cli
