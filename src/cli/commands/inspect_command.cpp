#include "cli/commands/inspect_command.hpp"

#include "base/terminal.hpp"
#include "base/text.hpp"
#include "cli/commands/input_options.hpp"
#include "cli/commands/inspect_table.hpp"
#include "json/json_text.hpp"
#include "plan/name_filter.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <unistd.h>
#include <utility>

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

constexpr json::JsonLayout kLayout = json::JsonLayout::kExpanded;

// `value`, or null when the input does not say it.
json::JsonText known(bool is_known, json::JsonText value) {
  return is_known ? std::move(value) : json::json_null();
}

json::JsonText to_json(const io::TensorEntry& entry) {
  const bool has_state = entry.has_state();
  return json::json_object(
      {{"name", json::json_string(entry.name)},
       {"source", json::json_string(entry.source)},
       {"shape", known(has_state, json::json_array_of(entry.shape, json::json_integer, kLayout))},
       {"elements", known(has_state, json::json_integer(entry.elements))},
       {"blocksize", known(has_state, json::json_integer(entry.blocksize))},
       {"nested", known(has_state, json::json_bool(entry.absmax_kind == nf4::AbsmaxKind::kNested))},
       {"dtype", known(has_state, json::json_string(to_string(entry.dtype)))},
       {"storage",
        entry.storage ? json::json_string(to_string(*entry.storage)) : json::json_null()},
       {"packed_bytes", known(has_state, json::json_integer(entry.packed_bytes))},
       {"state_bytes", known(entry.state_bytes > 0, json::json_integer(entry.state_bytes))},
       {"warnings", json::json_strings(entry.warnings, kLayout)},
       {"problem", json::json_string_or_null(entry.problem)}},
      kLayout);
}

json::JsonText to_json(const plan::OtherCount& other) {
  return json::json_object({{"kind", json::json_string(other.kind)},
                            {"count", json::json_integer(other.count)},
                            {"example", json::json_string(other.example)}},
                           kLayout);
}

std::string to_json(const std::string& input, const Inspection& inspection) {
  return json::json_object(
             {{"input", json::json_string(input)},
              {"tensors",
               json::json_array_of(
                   inspection.tensors, [](const auto* entry) { return to_json(*entry); }, kLayout)},
              {"others",
               json::json_array_of(
                   inspection.others, [](const auto& other) { return to_json(other); }, kLayout)}},
             kLayout)
             .text +
         "\n";
}

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
    write_stdout(to_json(name, inspection));
  } else if (!inspection.tensors.empty()) {
    write_stdout(inspect_table(inspection, {.lists_all = arguments.all,
                                            .width = terminal.has_width ? terminal.width : 0}));
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
