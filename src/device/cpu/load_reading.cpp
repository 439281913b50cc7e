#include "device/cpu/load_reading.hpp"

#include <algorithm>
#include <sys/resource.h>
#include <unistd.h>

namespace nf4bench::device {
namespace {

double seconds_of(const timeval& time) {
  return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}

}  // namespace

LoadReading read_load(const std::filesystem::path& root, double seconds_of_others) {
  LoadReading reading;
  const std::vector<int> processors = allowed_processors();
  reading.processors = static_cast<int>(processors.size());
  reading.times = read_processor_times(root, processors);
  rusage usage{};
  if (getrusage(RUSAGE_SELF, &usage) == 0) {
    reading.own_ticks =
        (seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime) + seconds_of_others) *
        static_cast<double>(sysconf(_SC_CLK_TCK));
    reading.involuntary_switches = usage.ru_nivcsw;
  }
  return reading;
}

// Processors count whole ticks, and each may have counted one too many.
std::optional<record::HostLoad> load_between(const LoadReading& start, const LoadReading& end) {
  if (!start.times || !end.times || start.processors != end.processors) return std::nullopt;
  const double total = end.times->total - start.times->total;
  const double processors = end.processors;
  if (total <= 0.0) return std::nullopt;
  const double busy = end.times->busy - start.times->busy;
  const double surely_others = busy - (end.own_ticks - start.own_ticks) - processors;
  record::HostLoad load;
  load.processors = end.processors;
  load.others = std::clamp(processors * surely_others / total, 0.0, processors);
  load.stolen = std::clamp((end.times->stolen - start.times->stolen) / total, 0.0, 1.0);
  load.involuntary_switches = end.involuntary_switches - start.involuntary_switches;
  return load;
}

}  // namespace nf4bench::device
