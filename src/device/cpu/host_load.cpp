#include "device/cpu/host_load.hpp"

#include "device/cpu/cpu_facts.hpp"
#include "device/cpu/small_files.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <set>
#include <string>
#include <string_view>
#include <sys/resource.h>
#include <system_error>
#include <unistd.h>

namespace nf4bench::device {
namespace {

// Columns of /proc/stat after the name (man 5 proc). Guest time is in user time already.
enum Column : std::size_t { kIdle = 3, kIowait = 4, kSteal = 7, kColumns = 8 };

double seconds_of(const timeval& time) {
  return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}

// What the threads of our own teams are called.
constexpr std::string_view kOwn = "nf4 team";

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

std::vector<int> foreign_threads() {
  std::vector<int> threads;
  std::error_code ignored;
  const int caller = gettid();
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task", ignored)) {
    const int id = std::atoi(entry.path().filename().c_str());
    if (id != caller && first_line(entry.path() / "comm") != kOwn) threads.push_back(id);
  }
  return threads;
}

// The clock of a thread is named by its id (man 2 clock_getres); the C library does it this way for
// threads that it has started itself.
double thread_seconds(int id) {
  constexpr unsigned kClockOfThread = 6;
  const auto clock = static_cast<clockid_t>((~static_cast<unsigned>(id) << 3) | kClockOfThread);
  timespec time{};
  if (clock_gettime(clock, &time) != 0) return 0.0;
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

void ThreadWatch::note_new(const std::string& owner) {
  for (const int id : list_()) {
    if (known_.insert(id).second) threads_.push_back({id, owner});
  }
}

void ThreadWatch::begin() {
  for (Watched& thread : threads_) thread.begun_s = seconds_(thread.id);
}

void ThreadWatch::end(double wall_s, IdleTime& sum) {
  sum.wall_s += wall_s;
  for (const Watched& thread : threads_) {
    const double busy_s = seconds_(thread.id) - thread.begun_s;
    if (busy_s > 0.0) sum.busy_s[thread.owner] += busy_s;
  }
}

}  // namespace nf4bench::device
