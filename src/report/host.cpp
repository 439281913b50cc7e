#include "report/host.hpp"

#include "base/error.hpp"
#include "base/input_file.hpp"
#include "base/parallel.hpp"
#include "base/sha256.hpp"
#include "git_version.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <ctime>
#include <fstream>
#include <span>
#include <string_view>
#include <sys/utsname.h>
#include <unistd.h>

namespace nf4bench::report {
namespace {

// What follows `key` and `separator` on the first line of `path` that starts with `key`.
std::string value_in_file(const char* path, std::string_view key, char separator) {
  std::ifstream file(path);
  std::string line;
  while (std::getline(file, line)) {
    if (!line.starts_with(key)) continue;
    const std::size_t at = line.find(separator, key.size());
    if (at == std::string::npos) continue;
    const std::size_t first = line.find_first_not_of(" \t\"", at + 1);
    const std::size_t last = line.find_last_not_of(" \t\"");
    return first == std::string::npos ? "" : line.substr(first, last - first + 1);
  }
  return "";
}

std::string cpu_name(const utsname& system) {
  const std::string model = value_in_file("/proc/cpuinfo", "model name", ':');
  return model.empty() ? system.machine : model;  // Arm's cpuinfo names no model
}

// Of the whole file; empty where it cannot be read.
std::string sha256_of(int file) {
  Sha256 hash;
  std::vector<std::byte> piece(std::size_t{1} << 20);
  ssize_t bytes = 0;
  while ((bytes = read(file, piece.data(), piece.size())) > 0) {
    hash.update(std::span(piece).first(static_cast<std::size_t>(bytes)));
  }
  return bytes == 0 ? hash.hex() : "";
}

std::string utc(std::time_t time) {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(time));
}

}  // namespace

record::HostInfo host_info() {
  utsname system{};
  uname(&system);
  record::HostInfo host;
  host.name = system.nodename;
  host.os = value_in_file("/etc/os-release", "PRETTY_NAME", '=');
  if (host.os.empty()) host.os = system.sysname;
  host.kernel = system.release;
  host.cpu = cpu_name(system);
  host.threads = hardware_threads();
  host.memory_bytes = static_cast<std::int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
  return host;
}

record::PeerFile peer_file(const std::string& name, const std::string& file) {
  record::PeerFile facts = {.name = name, .file = file, .sha256 = "", .modified_at = ""};
  try {
    const InputFile input = open_input(file);
    facts.bytes = input.status.st_size;
    facts.modified_at = utc(input.status.st_mtime);
    facts.sha256 = sha256_of(input.descriptor.get());
  } catch (const Error&) {
    // Whoever loads it says why it cannot be read.
  }
  return facts;
}

std::string utc_now() {
  return utc(std::time(nullptr));
}

std::optional<double> seconds_of(const std::string& time) {
  std::tm parts = {};
  const char* const end = strptime(time.c_str(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  if (end == nullptr || *end != '\0') return std::nullopt;
  const std::time_t seconds = timegm(&parts);
  // strptime() takes blanks and fields that are short, too.
  return utc(seconds) == time ? std::optional(static_cast<double>(seconds)) : std::nullopt;
}

record::ToolInfo tool_info() {
  record::ToolInfo tool;
  tool.version = NF4BENCH_VERSION;
  tool.git_commit = kGitCommit;
  tool.git_dirty = kGitDirty;
  tool.build_type = NF4BENCH_BUILD_TYPE;
  tool.compiler = NF4BENCH_COMPILER;
  tool.cuda_architectures = NF4BENCH_CUDA_ARCHITECTURES;
  return tool;
}

std::string version_text() {
  const record::ToolInfo tool = tool_info();
  const std::string commit = tool.git_commit.empty() ? "unknown" : tool.git_commit;
  const std::string cuda = tool.cuda_architectures.empty()
                               ? "no (CPU device only)"
                               : "yes, architectures " + tool.cuda_architectures;
  return fmt::format("nf4bench {}\ncommit: {}{}\nbuild: {}, {}\nCUDA: {}", tool.version, commit,
                     tool.git_dirty ? " with local changes" : "", tool.build_type, tool.compiler,
                     cuda);
}

}  // namespace nf4bench::report
