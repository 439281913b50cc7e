#pragma once

#include "cli/command.hpp"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace nf4bench::cli {

// What the command line, the environment or a configuration file says of an option.
struct Setting {
  const Option* option = nullptr;
  std::string name{};          // "max-time", under which it was set
  Words words{};               // never empty; of a flag one word
  std::string origin{};        // "bench.toml:3" or "NF4BENCH_RUN_MAX_TIME"; empty: typed
  bool is_overridden = false;  // by a higher layer
  bool is_active() const;      // has an effect: is not overridden, and no flag switched off
};

// What the environment says of a command. Values of a repeated option are separated by semicolons,
// those of a list by commas; an empty value sets nothing. Warns on stderr of variables that look
// like the command's but set nothing. Throws Error(kUsage) that begins with the variable.
std::vector<Setting> read_environment(const Command& command);

// What the text of a configuration file says: TOML 1.0 with a section for each of `commands`, in
// which the options have their long names without dashes. Dates, infinities and arrays of tables
// are refused. Throws Error(kUsage) with file, line and key, and the nearest name for a misspelt
// one.
using Section = std::pair<const Command*, std::vector<Setting>>;
std::vector<Section> parse_config(std::string_view text, const std::string& path,
                                  const std::vector<Command>& commands);

// The same of the file at `path`.
std::vector<Section> read_config(const std::string& path, const std::vector<Command>& commands);

// Gives the words of `setting` to its option. Throws Error(kUsage) that begins with the origin.
void take(const Setting& setting);

// The settings of all layers, the highest first, but for those that a higher one excludes.
std::vector<Setting> layered(const std::vector<std::vector<Setting>>& layers);

// What `settings` lack or have too much of, in the words of the options; else empty.
std::string find_conflict(const Command& command, const std::vector<Setting>& settings);

// `argv` with what is set elsewhere written out, so that it does the same again.
Words written_out(const Words& argv, const std::vector<Setting>& settings);

// " (--threads is set by bench.toml:3)" for each setting from elsewhere whose option or value
// stands in `message`; else empty.
std::string origins_of(const std::string& message, const std::vector<Setting>& settings);

}  // namespace nf4bench::cli
