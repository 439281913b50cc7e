#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace nf4bench {

// A file that a command reads, and what it is to that command: "the input". For a folder, whatever
// gets into it is read with it from then on.
struct FileRead {
  std::filesystem::path path;
  std::string what;
};

// A file that a command is to write, and what must not be lost by that.
struct OutputTarget {
  std::string option = {};          // that names the path, for messages: "--json"
  std::string path = {};            // "-" is stdout
  std::vector<FileRead> read = {};  // never replaced, whatever names lead there
  std::string kind = {};            // of the files that are replaced unasked: "a report"
  std::function<bool(std::string_view beginning)> is_of_kind = {};  // from the first 4 KiB of one
  bool force = false;                                               // replaces all other files, too
};

// Makes sure that writing to `target` destroys nothing and does not hang. To be asked before the
// work begins, and again when its result gets the name. Throws Error(kUsage) when the path leads to
// a file that is read, or to one that takes --force to be replaced; an empty file takes none.
// Throws Error(kOutput) when the path cannot be a file: in a folder that is not there, a folder, a
// FIFO or a device. /dev/null, /dev/full and what this process holds open already can be written.
void check_output(const OutputTarget& target);

// Makes the folder that `option` names. Throws Error(kOutput).
void make_folder(const std::string& option, const std::string& path);

// True for "-" and for other names of what stdout is, such as /dev/stdout; not for /dev/null.
bool is_stdout(const std::string& path);

}  // namespace nf4bench
