#include "report/host.hpp"

#include "base/parallel.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <ctime>
#include <fstream>
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

std::string utc_now() {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
}

}  // namespace nf4bench::report
