#include "device/cpu/processor_times.hpp"

#include "device/cpu/small_files.hpp"

#include <cstddef>
#include <sched.h>
#include <set>
#include <string>

namespace nf4bench::device {
namespace {

// Columns of /proc/stat after the name (man 5 proc). Guest time is in user time already.
enum Column : std::size_t { kIdle = 3, kIowait = 4, kSteal = 7, kColumns = 8 };

}  // namespace

std::optional<ProcessorTimes> read_processor_times(const std::filesystem::path& root,
                                                   const std::vector<int>& processors) {
  std::set<std::string> names;
  for (const int processor : processors) names.insert("cpu" + std::to_string(processor));
  ProcessorTimes times;
  std::size_t found = 0;
  for (const std::string& line : lines_of(root / "proc/stat")) {
    const std::vector<std::string> words = words_of(line);
    if (words.size() <= kColumns || !names.contains(words.front())) continue;
    ++found;
    for (std::size_t column = 0; column < kColumns; ++column) {
      const double ticks = number(words[column + 1]).value_or(0.0);
      times.total += ticks;
      if (column == kSteal) times.stolen += ticks;
      if (column != kIdle && column != kIowait && column != kSteal) times.busy += ticks;
    }
  }
  if (found == 0 || found != names.size()) return std::nullopt;
  return times;
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

}  // namespace nf4bench::device
