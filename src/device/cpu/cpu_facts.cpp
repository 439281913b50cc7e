#include "device/cpu/cpu_facts.hpp"

#include "device/cpu/small_files.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sched.h>
#include <string_view>
#include <sys/utsname.h>
#include <system_error>
#include <unistd.h>

namespace nf4bench::device {
namespace {

namespace fs = std::filesystem;

// What follows the colon of the first line that starts with `key`; empty when there is none.
std::string value_after(const char* path, std::string_view key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(key)) continue;
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    const std::size_t start = line.find_first_not_of(" \t", colon + 1);
    return start == std::string::npos ? "" : line.substr(start);
  }
  return "";
}

// "32K", "16M" or plain bytes, as sysfs writes sizes.
std::int64_t parse_size(const std::string& text) {
  char* end = nullptr;
  const std::int64_t number = std::strtoll(text.c_str(), &end, 10);
  if (*end == 'K') return number << 10;
  if (*end == 'M') return number << 20;
  return number;
}

// The last-level caches seen so far, each once, by the processors that share it.
struct LastLevel {
  int level = 0;
  std::map<std::string, std::int64_t> bytes_by_sharers;

  void add(const fs::path& index) {
    if (first_line(index / "type") == "Instruction") return;
    const int found = std::atoi(first_line(index / "level").c_str());
    const std::int64_t bytes = parse_size(first_line(index / "size"));
    if (bytes <= 0 || found < level) return;
    if (found > level) bytes_by_sharers.clear();
    level = found;
    bytes_by_sharers[first_line(index / "shared_cpu_list")] = bytes;
  }
};

}  // namespace

std::string cpu_name() {
  if (std::string name = value_after("/proc/cpuinfo", "model name"); !name.empty()) return name;
  utsname system{};
  return uname(&system) == 0 ? std::string(system.machine) + " processor" : "processor";
}

std::vector<int> allowed_processors() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0) CPU_SET(0, &allowed);
  std::vector<int> processors;
  for (int processor = 0; processor < CPU_SETSIZE; ++processor) {
    if (CPU_ISSET(processor, &allowed)) processors.push_back(processor);
  }
  return processors;
}

std::int64_t last_level_cache_bytes() {
  LastLevel caches;
  for (const int cpu : allowed_processors()) {
    std::error_code ignored;
    const fs::path folder = "/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/cache";
    for (const fs::directory_entry& entry : fs::directory_iterator(folder, ignored)) {
      if (entry.path().filename().string().starts_with("index")) caches.add(entry.path());
    }
  }
  std::int64_t total = 0;
  for (const auto& [sharers, bytes] : caches.bytes_by_sharers) total += bytes;
  return total > 0 ? total : std::int64_t{32} << 20;
}

std::int64_t physical_memory_bytes() {
  return static_cast<std::int64_t>(sysconf(_SC_PHYS_PAGES)) *
         static_cast<std::int64_t>(sysconf(_SC_PAGESIZE));
}

std::int64_t available_memory_bytes() {
  const std::string kilobytes = value_after("/proc/meminfo", "MemAvailable");
  const std::int64_t bytes = std::strtoll(kilobytes.c_str(), nullptr, 10) * 1024;
  return bytes > 0 ? bytes : physical_memory_bytes() / 2;
}

}  // namespace nf4bench::device
