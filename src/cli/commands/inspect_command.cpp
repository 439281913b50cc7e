#include "cli/commands/inspect_command.hpp"

#include "base/terminal.hpp"
#include "base/text.hpp"
#include "io/checkpoint/checkpoint.hpp"
#include "json/json_text.hpp"
#include "plan/sources.hpp"
#include "text/text_grid.hpp"
#include "text/units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

namespace nf4bench::cli {
namespace {

constexpr char kExamples[] = R"(Examples:
  Every NF4 tensor of a file, and what else it holds:
    nf4bench inspect data/llama_layer.safetensors
  The same for a script:
    nf4bench inspect data/llama_layer.safetensors --json
Exit code 3 when there is no NF4 tensor or one that cannot be decoded.)";

constexpr json::JsonLayout kLayout = json::JsonLayout::kExpanded;

json::JsonText to_json(const io::TensorEntry& entry) {
  return json::json_object(
      {{"name", json::json_string(entry.name)},
       {"source", json::json_string(entry.source)},
       {"shape", json::json_array_of(entry.shape, json::json_integer, kLayout)},
       {"elements", json::json_integer(entry.elements)},
       {"blocksize", json::json_integer(entry.blocksize)},
       {"nested", json::json_bool(entry.absmax_kind == nf4::AbsmaxKind::kNested)},
       {"dtype", json::json_string(to_string(entry.dtype))},
       {"storage", json::json_string(to_string(entry.storage))},
       {"packed_bytes", json::json_integer(entry.packed_bytes)},
       {"state_bytes", json::json_integer(entry.state_bytes)},
       {"warnings", json::json_strings(entry.warnings, kLayout)},
       {"problem", json::json_string_or_null(entry.problem)}},
      kLayout);
}

json::JsonText to_json(const io::OtherTensors& other) {
  return json::json_object(
      {{"kind", json::json_string(other.kind)},
       {"count", json::json_integer(static_cast<std::int64_t>(other.names.size()))},
       {"example", json::json_string(other.names.front())}},
      kLayout);
}

std::string to_json(const std::string& input, const io::Checkpoint& checkpoint) {
  const auto element = [](const auto& each) { return to_json(each); };
  return json::json_object(
             {{"input", json::json_string(input)},
              {"tensors", json::json_array_of(checkpoint.tensors(), element, kLayout)},
              {"others", json::json_array_of(checkpoint.others(), element, kLayout)}},
             kLayout)
             .text +
         "\n";
}

std::vector<std::string> row_of(const io::TensorEntry& entry) {
  return {escaped(entry.name, 80),
          nf4::shape_to_string(entry.shape),
          fmt::format("{}", entry.blocksize),
          to_string(entry.absmax_kind),
          to_string(entry.dtype),
          to_string(entry.storage),
          text::format_size(entry.packed_bytes),
          text::format_size(entry.state_bytes),
          entry.problem.empty() ? "ok" : "unusable"};
}

std::string to_table(const io::Checkpoint& checkpoint) {
  std::vector<std::vector<std::string>> rows = {{"tensor", "shape", "blocksize", "absmax", "dtype",
                                                 "stored as", "packed", "state", "status"}};
  std::string remarks;
  for (const io::TensorEntry& entry : checkpoint.tensors()) {
    rows.push_back(row_of(entry));
    if (!entry.problem.empty()) remarks += fmt::format("problem: {}\n", entry.problem);
    for (const std::string& warning : entry.warnings) {
      remarks += fmt::format("warning: {}: {}\n", escaped(entry.name), warning);
    }
  }
  std::string text = rows.size() > 1 ? text::align_columns(rows, 0) : "";
  for (const io::OtherTensors& other : checkpoint.others()) {
    text += fmt::format("not NF4: {} {} (for example {})\n", other.names.size(), other.kind,
                        escaped(other.names.front()));
  }
  return text + remarks;
}

}  // namespace

CLI::App* add_inspect_command(CLI::App& app, InspectArguments& arguments) {
  CLI::App* command = add_command(
      app, "inspect", "Show every NF4 tensor of an input: shape, state, problems", kExamples);
  add_single(
      *command, arguments.input,
      {"input", "",
       "A safetensors file, Hugging Face folder, index file, .npz archive\nor folder of .npy"})
      .required()
      .files();
  add_flag(*command, "--json", arguments.json, "Print JSON instead of a table");
  return command;
}

ExitCode execute(const InspectArguments& arguments, const Context&) {
  const io::Checkpoint checkpoint = io::Checkpoint::open(arguments.input);
  if (arguments.json) {
    write_stdout(to_json(arguments.input, checkpoint));
  } else {
    write_stdout(to_table(checkpoint));
  }
  const auto& tensors = checkpoint.tensors();
  if (tensors.empty()) {
    throw Error(ErrorKind::kInput, plan::describe_lack(arguments.input, checkpoint));
  }
  const auto unusable = std::count_if(tensors.begin(), tensors.end(),
                                      [](const io::TensorEntry& e) { return !e.problem.empty(); });
  if (unusable == 0) return ExitCode::kOk;
  throw Error(ErrorKind::kInput, fmt::format("{} of {} NF4 tensors in {} cannot be decoded",
                                             unusable, tensors.size(), escaped(arguments.input)));
}

}  // namespace nf4bench::cli
