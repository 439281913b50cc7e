#include "device/cpu/thread_watch.hpp"

#include "device/cpu/small_files.hpp"

#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <unistd.h>

namespace nf4bench::device {
namespace {

// What the threads of our own teams are called.
constexpr std::string_view kOwn = "nf4 team";

}  // namespace

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
