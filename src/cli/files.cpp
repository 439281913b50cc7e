#include "cli/files.hpp"

#include "base/atomic_file.hpp"
#include "base/error.hpp"
#include "base/terminal.hpp"
#include "base/text.hpp"
#include "io/checkpoint/inventory.hpp"
#include "report/report_file.hpp"

#include <filesystem>
#include <utility>

namespace nf4bench::cli {

void add_force_option(Command& command, bool& force) {
  // What may be lost is said where it can be seen.
  command.add("--force", force,
              "Replace a file that is there and was not made by this command, but never an input",
              kCommandLineOnly);
}

std::vector<FileRead> files_read(const CommandInputs& inputs, const Context& context) {
  std::vector<FileRead> read;
  for (const io::Checkpoint* checkpoint : inputs.checkpoints) {
    const io::CheckpointFiles files = checkpoint->files();
    for (const auto& path : files.files) read.push_back({path, "a file of the input"});
    if (!files.index.empty()) read.push_back({files.index, "the index of the input"});
    if (!files.config.empty()) read.push_back({files.config, "the config.json of the input"});
  }
  for (const peer::PeerArgument& peer : inputs.peers) {
    read.push_back({peer.path, "the library of a peer"});
  }
  if (!inputs.activations.empty()) read.push_back({inputs.activations, "the file of activations"});
  if (!inputs.routing.empty()) read.push_back({inputs.routing, "the file of ids"});
  for (const std::string& path : inputs.reports) read.push_back({path, "a report that is read"});
  if (!context.config.empty()) read.push_back({context.config, "the configuration file"});
  return read;
}

void check_text_output(const OutputTarget& target) {
  const std::filesystem::path path = target.path;
  if (io::is_tensor_file_name(path.filename().native())) {
    throw Error(ErrorKind::kUsage,
                "{}: \"{}\" is named as a file of tensors is; choose another ending", target.option,
                escaped(target.path));
  }
  check_output(target);
}

void write_text(const OutputTarget& target,
                const std::function<void(const json::TextSink&)>& write) {
  if (target.path == "-") return write(write_stdout);
  AtomicFile file(target.path, [&] { check_output(target); });
  write([&](std::string_view piece) { file.write(piece); });
  file.commit();
}

OutputTarget report_target(const std::string& option, const std::string& path,
                           std::vector<FileRead> read, bool force) {
  return {.option = option,
          .path = path,
          .read = std::move(read),
          .kind = "a report of nf4bench",
          .is_of_kind = report::begins_as_report,
          .force = force};
}

OutputTarget tensor_target(const std::string& path, std::vector<FileRead> read, bool force) {
  return {.option = "-o",
          .path = path,
          .read = std::move(read),
          .kind = "a file of tensors that nf4bench wrote",
          .is_of_kind = io::names_its_command,
          .force = force};
}

io::WriteOptions write_options(const std::string& command, const OutputTarget& target) {
  return {.command = command,
          .check = [target = target](const std::filesystem::path& path) mutable {
            target.path = path.native();
            check_output(target);
          }};
}

}  // namespace nf4bench::cli
