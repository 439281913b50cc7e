#include "cli/commands/inspect_command.hpp"

#include "base/terminal.hpp"
#include "base/text.hpp"
#include "io/checkpoint/checkpoint.hpp"
#include "plan/sources.hpp"
#include "text/text_grid.hpp"
#include "text/units.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

namespace nf4bench::cli {
namespace {

using Json = nlohmann::json;

constexpr char kExamples[] = R"(Examples:
  Every NF4 tensor of a file, and what else it holds:
    nf4bench inspect data/llama_layer.safetensors
  The same for a script:
    nf4bench inspect data/llama_layer.safetensors --json
Exit code 3 when there is no NF4 tensor or one that cannot be decoded.)";

// As JSON. A name from a file may be no UTF-8, which JSON cannot hold.
std::string quoted(const std::string& text) {
  return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
}

// A JSON array of what `to_text` makes of each element, which is written without line breaks of its
// own or with `indent` after each.
template <class Elements, class ToText>
std::string array(const Elements& elements, const std::string& indent, ToText to_text) {
  std::string text = "[";
  for (const auto& element : elements) {
    text += text.size() == 1 ? "\n" : ",\n";
    text += indent + "  " + to_text(element);
  }
  if (text.size() > 1) text += "\n" + indent;
  return text + "]";
}

// Written without a tree in between: a model may have a hundred thousand of them.
std::string to_json(const io::TensorEntry& entry) {
  const std::string indent = "      ";
  std::string text = "{\n";
  const auto add = [&](const char* name, const std::string& value) {
    fmt::format_to(std::back_inserter(text), "{}\"{}\": {},\n", indent, name, value);
  };
  add("name", quoted(entry.name));
  add("source", quoted(entry.source));
  add("shape", array(entry.shape, indent, [](std::int64_t n) { return std::to_string(n); }));
  add("elements", std::to_string(entry.elements));
  add("blocksize", std::to_string(entry.blocksize));
  add("nested", entry.absmax_kind == nf4::AbsmaxKind::kNested ? "true" : "false");
  add("dtype", quoted(to_string(entry.dtype)));
  add("storage", quoted(to_string(entry.storage)));
  add("packed_bytes", std::to_string(entry.packed_bytes));
  add("state_bytes", std::to_string(entry.state_bytes));
  add("warnings", array(entry.warnings, indent, quoted));
  add("problem", entry.problem.empty() ? "null" : quoted(entry.problem));
  text.erase(text.size() - 2, 1);  // the last comma
  return text + "    }";
}

std::string to_json(const io::OtherTensors& other) {
  return fmt::format("{{\n      \"kind\": {},\n      \"count\": {},\n      \"example\": {}\n    }}",
                     quoted(other.kind), other.names.size(),
                     quoted(std::string(other.names.front())));
}

std::string to_json(const std::string& input, const io::Checkpoint& checkpoint) {
  const auto element = [](const auto& each) { return to_json(each); };
  return fmt::format("{{\n  \"input\": {},\n  \"tensors\": {},\n  \"others\": {}\n}}\n",
                     quoted(input), array(checkpoint.tensors(), "  ", element),
                     array(checkpoint.others(), "  ", element));
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
