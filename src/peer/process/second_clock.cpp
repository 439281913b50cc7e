#include "peer/process/second_clock.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace nf4bench::peer {
namespace {

constexpr double kLongEnoughS = 0.02;
constexpr double kMessageS = 0.005;
// What a turn on a GPU takes besides its calls: two messages, waking up, waiting for the device.
constexpr double kTurnS = 0.01;
constexpr double kMessageOfACallS = 2e-6;
constexpr double kMostTimes = 1.5;
// A thread that shares its core with another's takes up to three times the processor time that it
// took alone, when its earlier calls were made.
constexpr double kMostTimesOfEarlier = 4.0;
// With more processor time of other threads than this share of its own, a thread waits for them and
// spins, the longer the busier the machine is: its earlier calls say nothing.
constexpr double kShareOfOthers = 0.1;
constexpr std::size_t kRemembered = 31;

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// Empty when `said_s` for some calls can be true where one thread took `seen_s`.
std::string contradiction(std::size_t calls, double said_s, double seen_s,
                          double most_times = kMostTimes) {
  const double messages_s = kMessageS + kMessageOfACallS * static_cast<double>(calls);
  if (seen_s < kLongEnoughS || seen_s <= most_times * said_s + messages_s) return "";
  return fmt::format(
      "implausible: by its own clock {} calls take {:.1f} ms, but the system counts {:.1f} ms of a "
      "processor",
      calls, 1e3 * said_s, 1e3 * seen_s);
}

}  // namespace

std::string contradiction_of_turn(std::size_t calls, double said_s, double passed_s) {
  if (passed_s < kLongEnoughS || passed_s <= kMostTimes * said_s + kTurnS) return "";
  return fmt::format(
      "implausible: by the events of its process {} calls take {:.1f} ms, but {:.1f} ms passed "
      "until the device was done with them",
      calls, 1e3 * said_s, 1e3 * passed_s);
}

std::string SecondClock::implausibility(const SeenCalls& made) {
  if (made.calls == 0) return "";
  const auto calls = static_cast<double>(made.calls);
  said_.push_back(made.said_s / calls);
  if (said_.size() > kRemembered) said_.pop_front();
  const double usual_s = calls * median({said_.begin(), said_.end()});
  std::string of_caller = contradiction(made.calls, made.said_s, made.seen.caller_s);
  const double others_s = made.seen.all_s - made.seen.caller_s;
  if (of_caller.empty() && others_s <= kShareOfOthers * made.seen.caller_s) {
    of_caller = contradiction(made.calls, usual_s, made.seen.caller_s, kMostTimesOfEarlier);
  }
  if (!of_caller.empty()) return of_caller;
  // What others take depends on how long these very calls had to wait, and before and behind short
  // ones others may spin for as long as a busy machine likes.
  if (made.said_s < kLongEnoughS) return "";
  return contradiction(made.calls, made.said_s, made.seen.all_s / threads_);
}

}  // namespace nf4bench::peer
