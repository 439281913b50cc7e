#pragma once

#include "base/output_target.hpp"
#include "cli/command.hpp"
#include "io/checkpoint/checkpoint.hpp"
#include "io/writers/writers.hpp"
#include "json/json_stream.hpp"
#include "peer/peer_argument.hpp"

#include <functional>
#include <string>
#include <vector>

namespace nf4bench::cli {

// What commands read and write, so that nothing they read is lost by what they write.

// --force, in every command that writes files.
void add_force_option(Command& command, bool& force);

// What a command reads, apart from its configuration file.
struct CommandInputs {
  std::vector<const io::Checkpoint*> checkpoints = {};
  std::vector<peer::PeerArgument> peers = {};
  std::vector<std::string> reports = {};
  std::string activations = {};  // empty: none
  std::string routing = {};      // the same
};

// All files that a command reads. A new kind of input is a line there.
std::vector<FileRead> files_read(const CommandInputs& inputs, const Context& context);

// For a text, such as a report: check_output(), and no name that readers of folders take for
// tensors.
void check_text_output(const OutputTarget& target);

// Writes what `write` hands on: to stdout as it comes, to a file as a whole.
void write_text(const OutputTarget& target,
                const std::function<void(const json::TextSink&)>& write);

// For reports, which replace reports: `option` names the path.
OutputTarget report_target(const std::string& option, const std::string& path,
                           std::vector<FileRead> read, bool force);

// For files of tensors, which replace such files of nf4bench: -o names the path.
OutputTarget tensor_target(const std::string& path, std::vector<FileRead> read, bool force);

// How files of tensors are written by `command`: `target` is checked for the path of each.
io::WriteOptions write_options(const std::string& command, const OutputTarget& target);

}  // namespace nf4bench::cli
