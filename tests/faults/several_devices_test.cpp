// "nf4bench run" on several GPUs at once, on a machine that pretends to have some.

#include "cli/on_a_terminal.hpp"
#include "cli/outcome.hpp"
#include "faults/short_run.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

namespace nf4bench::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

using Words = std::vector<std::string>;

std::string uuid(int index) {
  return fmt::format("GPU-0000000{}-0000-0000-0000-000000000000", index);
}

// Processes whose environment has `setting`.
std::vector<pid_t> processes_with(const std::string& setting) {
  std::vector<pid_t> found;
  for (const auto& entry : fs::directory_iterator("/proc")) {
    const std::string name = entry.path().filename().string();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    const std::string environment = read_file("/proc/" + name + "/environ");
    if (environment.find(setting) != std::string::npos) found.push_back(std::stoi(name));
  }
  return found;
}

class SeveralDevices : public OnATerminal {
 protected:
  void SetUp() override {}  // most of these need none

  // `gpus` says how each fares, see fake_gpus.cpp.
  Command command(const std::string& gpus, const Words& more) const {
    Words all = {"--shape", "64x64"};
    all.insert(all.end(), more.begin(), more.end());
    Command made;
    made.arguments = short_run(folder(), all);
    made.arguments.insert(made.arguments.begin(), NF4BENCH_FAKE_GPUS);
    made.environment.push_back("NF4BENCH_TEST_GPUS=" + gpus);
    made.environment.push_back(mark());
    return made;
  }

  Outcome run(const std::string& gpus, const Words& more) const {
    return Process(command(gpus, more)).wait();
  }

  // A run that lasts until it is interrupted.
  Command endless(const std::string& gpus) const {
    return command(gpus, {"--device", "all", "--max-time", "3600", "--min-samples", "1000000",
                          "--precision", "0"});
  }

  std::string mark() const { return "NF4BENCH_TEST_MARK=" + scratch_.path(""); }
  std::string folder() const { return scratch_.path("reports/"); }
  std::string path(int index) const { return folder() + uuid(index) + ".json"; }
  json report(int index) const { return report_at(path(index)); }

  Words files() const {
    Words names;
    if (!fs::exists(folder())) return names;
    for (const auto& entry : fs::directory_iterator(folder())) {
      names.push_back(entry.path().filename().string());
    }
    std::sort(names.begin(), names.end());
    return names;
  }

  void wait_for(int index) const {
    for (int i = 0; i < 4000 && !fs::exists(path(index)); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }

  void expect_nobody_left() const {
    for (int i = 0; i < 400 && !processes_with(mark()).empty(); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    EXPECT_THAT(processes_with(mark()), IsEmpty());
  }

  ScratchFolder scratch_;
};

TEST_F(SeveralDevices, EachHasAReportThatItsUuidNames) {
  const Outcome outcome = run("sound sound", {"--device", "all"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(files(), ElementsAre(uuid(0) + ".json", uuid(1) + ".json"));
  for (const int index : {0, 1}) {
    EXPECT_EQ(report(index).at("complete"), true);
    EXPECT_EQ(report(index).at("device").at("uuid"), uuid(index));
    EXPECT_EQ(report(index).at("device").at("id"), fmt::format("cuda:{}", index));
    EXPECT_EQ(report(index).at("settings").at("together"), 2);
    EXPECT_THAT(outcome.out, HasSubstr(uuid(index)));
  }
}

TEST_F(SeveralDevices, CudaAllMeansTheSame) {
  EXPECT_EQ(run("sound sound", {"--device", "cuda:all"}).exit_code, 0);
  EXPECT_EQ(files().size(), 2u);
}

TEST_F(SeveralDevices, AListChoosesSome) {
  EXPECT_THAT(run("sound broken sound", {"--device", "cuda:0,2"}), Ends(0));
  EXPECT_THAT(files(), ElementsAre(uuid(0) + ".json", uuid(2) + ".json"));
}

// A batch system that gives a whole machine to a task says the same to all processes of it.
TEST_F(SeveralDevices, OfATaskOfAJobHaveAReportEach) {
  Command task = command("sound sound", {"--device", "all"});
  task.environment.emplace_back("JOB_COMPLETION_INDEX=3");
  EXPECT_EQ(Process(task).wait().exit_code, 0);
  EXPECT_THAT(files(), ElementsAre(uuid(0) + ".json", uuid(1) + ".json"));
  EXPECT_EQ(report(1).at("shard").at("index"), 3);
}

TEST_F(SeveralDevices, OneThatAnotherProcessUsesIsWarnedOf) {
  EXPECT_THAT(run("sound shared", {"--device", "all"}), Ends(0));
  const auto processes = [&](int index, const char* state) {
    return report(index).at("device").at(state).at("other_processes");
  };
  EXPECT_EQ(processes(0, "state_after"), 0);
  EXPECT_EQ(processes(1, "state_before"), 1);
  EXPECT_EQ(processes(1, "state_after"), 1);
  EXPECT_THAT(report(0).at("warnings").dump(), Not(HasSubstr("Other processes")));
  EXPECT_THAT(report(1).at("warnings").dump(),
              HasSubstr("Other processes were on this GPU (1 before the run, 1 after it)"));
}

// Each has a counter that runs at 100 W.
TEST_F(SeveralDevices, HaveTheEnergyOfTheirCalls) {
  EXPECT_THAT(run("sound", {"--device", "all", "--energy"}),
              AllOf(Ends(0), Prints(HasSubstr("energy"))));
  const json made = report(0);
  EXPECT_NEAR(made.at("device").at("idle_power_w").get<double>(), 100.0, 5.0);
  const json& energy = made.at("measurements").at(0).at("energy");
  EXPECT_NEAR(energy.at("power_w").get<double>(), 100.0, 5.0);
  EXPECT_GE(energy.at("seconds").get<double>(), 1.0);
  EXPECT_NEAR(energy.at("joules").get<double>() * energy.at("calls").get<double>(),
              100.0 * energy.at("seconds").get<double>(), 5.0);
}

TEST_F(SeveralDevices, InTurnTheyAreMeasuredAlone) {
  EXPECT_THAT(run("crowded crowded crowded", {"--device", "all", "--in-turn"}), Ends(0));
  for (const int index : {0, 1, 2}) {
    EXPECT_EQ(report(index).at("settings").at("together"), 1);
    EXPECT_EQ(report(index).at("measurements").at(0).at("time_s").at("median"), 1e-3);
  }
}

TEST_F(SeveralDevices, AtOnceTheyShareTheMachine) {
  EXPECT_THAT(run("crowded crowded crowded", {"--device", "all", "--min-samples", "300",
                                              "--max-time", "60", "--precision", "1"}),
              Ends(0));
  for (const int index : {0, 1, 2}) {
    const std::vector<double> samples = report(index).at("measurements").at(0).at("samples_s");
    EXPECT_DOUBLE_EQ(*std::max_element(samples.begin(), samples.end()), 1.2e-3);
  }
}

TEST_F(SeveralDevices, ATableOfEachAndALineOfEachComeOut) {
  const Outcome outcome = run("sound lost", {"--device", "all"});
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("cuda:0"), HasSubstr("simd"),
                                 HasSubstr("the GPU has fallen off the bus")));
  EXPECT_THAT(run("sound sound", {"--device", "all", "--quiet"}).out, IsEmpty());
}

TEST_F(SeveralDevices, OneThatFailsEndsAlone) {
  for (const char* const gpus : {"sound lost", "sound deadly", "sound broken"}) {
    const Outcome outcome = run(gpus, {"--device", "all"});
    EXPECT_EQ(outcome.exit_code, 5) << gpus << outcome.err;
    EXPECT_EQ(report(0).at("complete"), true) << gpus;
    EXPECT_THAT(outcome.err, HasSubstr("cuda:1")) << gpus;
    fs::remove_all(folder());
  }
}

TEST_F(SeveralDevices, OneThatIsMissingIsToldAndTheOthersAreMeasured) {
  EXPECT_THAT(run("sound sound", {"--device", "cuda:0,5"}),
              Ends(5, AllOf(HasSubstr("cuda:5"), HasSubstr("not there"))));
  EXPECT_EQ(report(0).at("complete"), true);
}

TEST_F(SeveralDevices, OneThatShowsNoProgressIsEnded) {
  const Outcome outcome = run("sound stuck", {"--device", "all", "--device-timeout", "1"});
  EXPECT_EQ(outcome.exit_code, 5);
  EXPECT_EQ(report(0).at("complete"), true);
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("cuda:1"), HasSubstr("no progress for 1")));
  expect_nobody_left();
}

// An older report of the same GPU is none of this run.
TEST_F(SeveralDevices, OneThatFailsIsNotCoveredByItsOlderReport) {
  ASSERT_EQ(run("sound sound", {"--device", "all"}).exit_code, 0);
  std::this_thread::sleep_for(std::chrono::milliseconds(1100));  // times count seconds
  const Outcome outcome = run("sound lost", {"--device", "all"});
  EXPECT_EQ(outcome.exit_code, 5);
  EXPECT_EQ(report(1).at("complete"), true);  // it stays as it was
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("the GPU has fallen off the bus"),
                                 Not(HasSubstr("Fake GPU (cuda:1)"))));
}

TEST_F(SeveralDevices, WhatIsWrongWithTheCommandIsWorse) {
  EXPECT_THAT(run("sound lost", {"--device", "all", "--tensor", "("}), Ends(2));
}

TEST_F(SeveralDevices, ASignalReachesAll) {
  for (const auto& [signal, code] : {std::pair(SIGINT, 130), std::pair(SIGTERM, 143)}) {
    Process process(endless("sound sound"));
    for (const int index : {0, 1}) wait_for(index);
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    process.send(signal);
    EXPECT_THAT(process.wait(), Ends(code));
    for (const int index : {0, 1}) {
      EXPECT_EQ(report(index).at("complete"), false);
      EXPECT_FALSE(report(index).at("finished_at").is_null());
    }
    expect_nobody_left();
    fs::remove_all(folder());
  }
}

// As from a terminal or a batch system, which signal a whole group.
TEST_F(SeveralDevices, ASignalThatEachProcessGetsByItselfIsNoSecondOne) {
  for (const int signal : {SIGINT, SIGTERM}) {
    Process process(endless("sound sound"));
    for (const int index : {0, 1}) wait_for(index);
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    for (const pid_t each : processes_with(mark())) kill(each, signal);
    EXPECT_EQ(process.wait().exit_code, 128 + signal);
    for (const int index : {0, 1}) {
      EXPECT_FALSE(report(index).at("finished_at").is_null()) << signal;
    }
    fs::remove_all(folder());
  }
}

TEST_F(SeveralDevices, NobodyOutlivesAParentThatIsKilled) {
  {
    const Process process(endless("sound stuck"));
    wait_for(0);
    EXPECT_EQ(processes_with(mark()).size(), 3u);
  }  // killed
  expect_nobody_left();
}

TEST_F(SeveralDevices, TellTheirProgressLineByLineInAPipe) {
  const Outcome outcome = run("sound sound", {"--device", "all"});
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("cuda:0: ["), HasSubstr("cuda:1: ["), HasSubstr("%")));
  EXPECT_THAT(outcome.err, Not(HasSubstr("\x1b")));
  EXPECT_THAT(run("sound sound", {"--device", "all", "--quiet"}).err, IsEmpty());
}

TEST_F(SeveralDevices, HaveALineEachOnATerminal) {
  OnATerminal::SetUp();
  Command made = command("sound sound", {"--device", "all"});
  made.error_stream = Stream::kTerminal;
  made.environment.emplace_back("TERM=xterm");
  made.environment.emplace_back("COLUMNS=80");
  const std::string err = Process(made).wait().err;
  EXPECT_THAT(err, AllOf(HasSubstr("cuda:0  ["), HasSubstr("cuda:1  ["), HasSubstr("\x1b[2A")));
}

TEST_F(SeveralDevices, CannotShareOneReport) {
  for (const std::string& target : {std::string("-"), scratch_.path("file.json")}) {
    std::ofstream(scratch_.path("file.json")) << "{}";
    EXPECT_THAT(run("sound sound", {"--device", "all", "--json", target}),
                Ends(2, HasSubstr("name a folder")));
  }
}

TEST_F(SeveralDevices, AreOnlyGpus) {
  EXPECT_THAT(run("", {"--device", "all"}),
              Ends(5, AllOf(HasSubstr("no CUDA device"), HasSubstr("--device cpu"))));
}

TEST_F(SeveralDevices, ADryRunShowsWhatEachWouldMeasure) {
  EXPECT_THAT(
      run("sound sound", {"--device", "all", "--dry-run"}),
      AllOf(Ends(0), Prints(AllOf(HasSubstr("cuda:0"), HasSubstr("cuda:1"), HasSubstr("64x64")))));
  EXPECT_THAT(files(), IsEmpty());
}

TEST_F(SeveralDevices, TogetherAndAloneShowsWhatCompanyCosts) {
  const Outcome outcome =
      run("crowded crowded", {"--device", "all", "--together-and-alone", "--min-samples", "600",
                              "--max-time", "60", "--precision", "1"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(files(), ElementsAre("alone", "together"));
  const auto median = [&](const std::string& how, int index) {
    const json made = report_at(folder() + how + "/" + uuid(index) + ".json");
    return made.at("measurements").at(0).at("time_s").at("median").get<double>();
  };
  for (const int index : {0, 1}) {
    EXPECT_DOUBLE_EQ(median("together", index), 1.1e-3);
    EXPECT_DOUBLE_EQ(median("alone", index), 1e-3);
  }
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("1.100x"), HasSubstr("Together over alone")));
}

// The driver's library that is found here knows the fourth GPU alone.
TEST_F(SeveralDevices, AreExaminedOneAfterTheOther) {
  Command made = command("sound sound sound sound", {});
  made.arguments = {NF4BENCH_FAKE_GPUS, "doctor", "--device", "cuda:7,3", "--json"};
  made.environment.emplace_back("LD_LIBRARY_PATH=" NF4BENCH_FAKE_NVML_FOLDER);
  const Outcome outcome = Process(made).wait();
  EXPECT_EQ(outcome.exit_code, 5) << outcome.err;
  const json found = json::parse(outcome.out);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].at("verdict"), "worthless");
  EXPECT_THAT(found[0].at("findings")[0].at("found"), HasSubstr("cuda:7"));
  EXPECT_EQ(found[1].at("device").at("uuid"), uuid(3));
  EXPECT_EQ(found[1].at("gpu").at("pcie").at("lanes"), 16);
}

TEST_F(SeveralDevices, TogetherAndAloneNeedsTwo) {
  EXPECT_EQ(run("sound", {"--device", "all", "--together-and-alone"}).exit_code, 2);
  EXPECT_EQ(run("sound", {"--device", "cuda:0", "--together-and-alone"}).exit_code, 2);
}

}  // namespace
}  // namespace nf4bench::test
