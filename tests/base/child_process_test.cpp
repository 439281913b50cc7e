#include "base/child_process.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <fstream>
#include <string>
#include <sys/types.h>
#include <thread>
#include <vector>

namespace nf4bench {
namespace {

ChildCommand shell(const std::string& script) {
  return {.arguments = {"sh", "-c", script}, .environment = {}, .is_this_program = false};
}

const std::string kDeaf = "trap '' TERM; echo ready; while :; do sleep 0.05; done";

double seconds_of(const std::vector<ChildCommand>& commands, const ChildWatch& watch,
                  std::vector<ChildOutcome>& outcomes) {
  const auto start = std::chrono::steady_clock::now();
  outcomes = run_children(commands, watch);
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  return elapsed.count();
}

TEST(ChildProcess, LeavesItsOutputAndItsExitCode) {
  const std::atomic<bool> interrupted = false;
  ChildCommand reads = shell("cat; echo said >&2; exit 7");
  reads.input = "given";
  const std::vector<ChildOutcome> outcomes =
      run_children({reads, shell("kill -9 $$"), {{"/nowhere/program"}, {}, false}},
                   {.interrupted = interrupted});
  ASSERT_EQ(outcomes.size(), 3u);
  EXPECT_EQ(outcomes[0].out, "given");
  EXPECT_EQ(outcomes[0].err, "said\n");
  EXPECT_EQ(outcomes[0].exit_code, 7);
  EXPECT_EQ(outcomes[1].exit_code, 128 + SIGKILL);
  EXPECT_EQ(outcomes[2].exit_code, 127);
}

// One that heeds nothing is killed, and not before its time.
TEST(ChildProcess, HasItsGraceAndNoMore) {
  std::vector<ChildOutcome> outcomes;
  const std::atomic<bool> interrupted = true;
  const double all_s =
      seconds_of({shell(kDeaf)}, {.interrupted = interrupted, .grace_s = 0.5}, outcomes);
  EXPECT_GE(all_s, 0.5);
  EXPECT_LT(all_s, 10.0);
  EXPECT_EQ(outcomes[0].exit_code, 128 + SIGKILL);
  const std::atomic<bool> goes_on = false;
  const double silent_s = seconds_of(
      {shell(kDeaf)}, {.interrupted = goes_on, .silence_s = 0.3, .grace_of_the_silent_s = 0.5},
      outcomes);
  EXPECT_GE(silent_s, 0.8);
  EXPECT_TRUE(outcomes[0].was_silent);
}

// Ended is one, too, that nobody has waited for.
bool is_there(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  std::string text;
  std::getline(file, text);
  return !text.empty() && text.find(") Z ") == std::string::npos;
}

bool ends_soon(pid_t process) {
  for (int i = 0; i < 200 && is_there(process); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return !is_there(process);
}

// What a tool starts is not left behind when the tool is stopped, or ends.
TEST(ChildProcess, ThatLeadsAGroupTakesWhatItHasStartedWithIt) {
  const std::atomic<bool> goes_on = false;
  const std::string deaf = "(trap '' TERM; while :; do sleep 0.05; done) >/dev/null 2>&1 & echo $!";
  for (const char* const end : {"; wait", ""}) {
    ChildCommand leads = shell(deaf + end);
    leads.leads_group = true;
    const ChildOutcome outcome =
        run_children({leads}, {.interrupted = goes_on, .silence_s = 0.3}).front();
    EXPECT_TRUE(ends_soon(static_cast<pid_t>(std::stol(outcome.out))));
    EXPECT_EQ(outcome.was_silent, *end != '\0');
  }
}

// A run on a GPU ends its sample and writes its report in that time; one that is silent does not.
TEST(ChildProcess, HasHalfAMinuteUnlessItIsSilent) {
  const std::atomic<bool> interrupted = false;
  const ChildWatch watch = {.interrupted = interrupted};
  EXPECT_EQ(watch.grace_s, 30.0);
  EXPECT_EQ(watch.grace_of_the_silent_s, 5.0);
}

}  // namespace
}  // namespace nf4bench
