// Which task of a job "nf4bench run" is, and what that changes.

#include "plan/shard.hpp"

#include "base/atomic_file.hpp"
#include "base/error.hpp"
#include "cli/outcome.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace nf4bench::cli {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using plan::find_shard;
using plan::report_path;
using test::Outcome;
using test::ScratchFolder;
using testing::ElementsAre;
using testing::HasSubstr;
using Environment = std::map<std::string, std::string>;

std::optional<record::Shard> shard_in(const Environment& environment,
                                      const std::string& word = "") {
  return find_shard(word, [&](const char* name) {
    const auto found = environment.find(name);
    return found == environment.end() ? nullptr : found->second.c_str();
  });
}

// "index/count of origin"; "-" for none.
std::string text_in(const Environment& environment, const std::string& word = "") {
  const auto shard = shard_in(environment, word);
  return shard ? fmt::format("{}/{} of {}", shard->index, shard->count, shard->origin) : "-";
}

std::string refusal(const Environment& environment, const std::string& word = "") {
  try {
    return text_in(environment, word);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    return error.what();
  }
}

const Environment kStep = {{"SLURM_PROCID", "3"}, {"SLURM_STEP_NUM_TASKS", "8"}};
const Environment kArray = {{"SLURM_ARRAY_TASK_ID", "2"},
                            {"SLURM_ARRAY_TASK_COUNT", "4"},
                            {"SLURM_ARRAY_TASK_MAX", "3"},
                            {"SLURM_PROCID", "0"}};

Environment with(Environment environment, const Environment& more) {
  for (const auto& [name, value] : more) environment[name] = value;
  return environment;
}

TEST(Shard, IsNoneOutsideOfJobs) {
  EXPECT_EQ(text_in({}), "-");
  EXPECT_EQ(text_in({{"SLURM_PROCID", ""}}), "-");
}

TEST(Shard, ComesFromWhateverStartedTheTask) {
  EXPECT_EQ(text_in(kStep), "3/8 of SLURM_PROCID");
  EXPECT_EQ(text_in({{"OMPI_COMM_WORLD_RANK", "1"}, {"OMPI_COMM_WORLD_SIZE", "4"}}),
            "1/4 of OMPI_COMM_WORLD_RANK");
  EXPECT_EQ(text_in({{"JOB_COMPLETION_INDEX", "5"}}), "5/0 of JOB_COMPLETION_INDEX");
}

// mpirun in a job of Slurm: all ranks of a node inherit the number of the daemon that starts them.
TEST(Shard, TheNearestOneCounts) {
  const Environment mpi =
      with(kStep, {{"OMPI_COMM_WORLD_RANK", "6"}, {"OMPI_COMM_WORLD_SIZE", "16"}});
  EXPECT_EQ(text_in(mpi), "6/16 of OMPI_COMM_WORLD_RANK");
  EXPECT_EQ(text_in(with(kStep, {{"JOB_COMPLETION_INDEX", "5"}})), "3/8 of SLURM_PROCID");
  EXPECT_EQ(text_in(mpi, "2/4"), "2/4 of --shard");
}

TEST(Shard, ABatchScriptIsNoTask) {
  EXPECT_EQ(text_in({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "8"}}), "-");
}

TEST(Shard, TasksOfAnArrayAreCountedOn) {
  EXPECT_EQ(text_in(kArray), "2/4 of SLURM_ARRAY_TASK_ID");
  const Environment steps = with(kArray, {{"SLURM_PROCID", "1"}, {"SLURM_STEP_NUM_TASKS", "2"}});
  EXPECT_EQ(text_in(steps), "5/8 of SLURM_ARRAY_TASK_ID");
}

// One task of an array that is submitted again, or an array from 1 on.
TEST(Shard, AnArrayWithGapsDoesNotSayHowManyThereAre) {
  EXPECT_EQ(text_in(with(kArray, {{"SLURM_ARRAY_TASK_COUNT", "1"}, {"SLURM_ARRAY_TASK_MAX", "2"}})),
            "2/0 of SLURM_ARRAY_TASK_ID");
  EXPECT_EQ(text_in(with(kArray, {{"SLURM_ARRAY_TASK_ID", "4"}, {"SLURM_ARRAY_TASK_MAX", "4"}})),
            "4/0 of SLURM_ARRAY_TASK_ID");
}

TEST(Shard, RefusesWhatIsNoTask) {
  for (const char* word : {"8/8", "3", "/", "a/b", "1/0", "-1/4", "1/4/2", "1 /4", "0/9999999"}) {
    EXPECT_THAT(refusal({}, word), HasSubstr("--shard: found")) << word;
  }
  EXPECT_THAT(refusal(with(kStep, {{"SLURM_PROCID", "three"}})),
              HasSubstr("SLURM_PROCID: found \"three\""));
  EXPECT_EQ(refusal({{"SLURM_PROCID", "three"}}, "1/2"), "1/2 of --shard");
}

TEST(ReportPath, IsOfTheShardInAFolder) {
  const ScratchFolder scratch;
  fs::create_directory(scratch.path("reports"));
  const record::Shard shard = {.index = 2, .count = 8, .split = false, .origin = "--shard"};
  EXPECT_EQ(report_path(scratch.path("reports"), shard), scratch.path("reports/shard-2.json"));
  EXPECT_EQ(report_path("new/", shard), "new/shard-2.json");
  EXPECT_EQ(report_path("new", shard), "new/shard-2.json");
  EXPECT_EQ(report_path("/dev/null", shard), "/dev/null");
  EXPECT_EQ(report_path("report.json", shard), "report.json");
  EXPECT_EQ(report_path("-", shard), "-");
  EXPECT_EQ(report_path("new/", std::nullopt), "new/");
}

// Runs of the program itself, as a task of a job.
class ShardedRun : public testing::Test {
 protected:
  ShardedRun() { fs::create_directory(folder.path("reports")); }

  Outcome run(const std::vector<std::string>& more, const std::vector<std::string>& environment) {
    std::vector<std::string> words = {
        "run",     "--device", "cpu",       "--no-ceilings", "--max-time", "0.02", "--quiet",
        "--cache", "hot",      "--variant", "simd",          "--baseline", "none"};
    words.insert(words.end(), more.begin(), more.end());
    if (std::ranges::find(more, "--json") == more.end()) {
      words.insert(words.end(), {"--json", folder.path("reports")});
    }
    test::Command command = test::nf4bench_command(words);
    command.environment.insert(command.environment.end(), environment.begin(), environment.end());
    return test::Process(command).wait();
  }

  json report(const std::string& name) const {
    return json::parse(test::read_file(folder.path("reports/" + name)));
  }

  std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder.path("reports"))) {
      names.push_back(entry.path().filename().string());
    }
    std::sort(names.begin(), names.end());
    return names;
  }

  ScratchFolder folder;
};

TEST_F(ShardedRun, WritesAReportOfItsOwnThatSaysWhoseItIs) {
  EXPECT_THAT(run({"--shape", "64x64"}, {"SLURM_PROCID=1", "SLURM_STEP_NUM_TASKS=4"}),
              test::Ends(0));
  EXPECT_THAT(files(), ElementsAre("shard-1.json"));
  const json shard = {{"index", 1}, {"count", 4}, {"split", false}, {"from", "SLURM_PROCID"}};
  EXPECT_EQ(report("shard-1.json").at("shard"), shard);
}

TEST_F(ShardedRun, MakesTheFolderOfItsReportWhenThereWillBeOne) {
  const std::string made = folder.path("reports/new");
  const std::vector<std::string> more = {"--shape", "64x64", "--shard", "0/2", "--json", made};
  EXPECT_THAT(run({folder.path("absent.safetensors"), "--shard", "0/2", "--json", made}, {}),
              test::Ends(3));
  std::vector<std::string> dry = more;
  dry.emplace_back("--dry-run");
  EXPECT_THAT(run(dry, {}), test::Ends(0));
  EXPECT_FALSE(fs::exists(made));
  EXPECT_THAT(run(more, {}), test::Ends(0));
  EXPECT_TRUE(fs::exists(made + "/shard-0.json"));
}

TEST_F(ShardedRun, ATaskThatRunsAgainReplacesItsOwnReportAlone) {
  for (const char* shard : {"0/2", "1/2", "1/2"}) {
    const std::string shape = files().size() < 2 ? "64x64" : "32x64";
    EXPECT_THAT(run({"--shape", shape, "--shard", shard}, {}), test::Ends(0));
  }
  EXPECT_THAT(files(), ElementsAre("shard-0.json", "shard-1.json"));
  EXPECT_THAT(report("shard-0.json").at("tensors")[0].at("shape"), ElementsAre(64, 64));
  EXPECT_THAT(report("shard-1.json").at("tensors")[0].at("shape"), ElementsAre(32, 64));
}

TEST_F(ShardedRun, TheFirstTaskMakesTheFolder) {
  fs::remove(folder.path("reports"));
  EXPECT_THAT(run({"--shape", "64x64", "--shard", "0/2", "--json", folder.path("reports/")}, {}),
              test::Ends(0));
  EXPECT_THAT(files(), ElementsAre("shard-0.json"));
}

TEST_F(ShardedRun, HasNoShardOutsideOfAJob) {
  EXPECT_THAT(
      test::nf4bench({"run", "--device", "cpu", "--no-ceilings", "--max-time", "0.02", "--quiet",
                      "--shape", "64x64", "--variant", "simd", "--json", folder.path("one.json")}),
      test::Ends(0));
  EXPECT_TRUE(json::parse(test::read_file(folder.path("one.json"))).at("shard").is_null());
}

TEST_F(ShardedRun, SplitGivesEachTaskItsShareOfTheGeometries) {
  std::vector<std::string> shapes;
  for (const char* shard : {"0/2", "1/2"}) {
    EXPECT_THAT(run({"--shape", "64x64", "--shape", "32x64", "--shape", "64x32", "--split",
                     "--shard", shard},
                    {}),
                test::Ends(0));
  }
  const auto shapes_of = [&](const std::string& name) {
    std::vector<std::string> found;
    const json whole = report(name);
    for (const json& tensor : whole.at("tensors")) found.push_back(tensor["shape"].dump());
    return found;
  };
  EXPECT_THAT(shapes_of("shard-0.json"), ElementsAre("[64,64]", "[64,32]"));
  EXPECT_THAT(shapes_of("shard-1.json"), ElementsAre("[32,64]"));
  EXPECT_EQ(report("shard-1.json").at("shard").at("split"), true);
  EXPECT_THAT(report("shard-1.json").at("warnings").dump(),
              HasSubstr("shard 1 of 2 measured 1 of 3 geometries"));
}

TEST_F(ShardedRun, SplitNeedsToKnowOfHowMany) {
  EXPECT_THAT(run({"--shape", "64x64", "--split"}, {"JOB_COMPLETION_INDEX=1"}),
              test::Ends(2, HasSubstr("--split: it is not known which task of how many this is")));
  EXPECT_THAT(run({"--shape", "64x64", "--split", "--shard", "1/2"}, {}),
              test::Ends(2, HasSubstr("leaves shard 1 of 2 nothing to measure")));
}

TEST_F(ShardedRun, ADryRunSaysWhichTaskItIs) {
  EXPECT_THAT(run({"--shape", "64x64", "--dry-run", "--shard", "3/4"}, {}),
              testing::AllOf(test::Ends(0), test::Prints(HasSubstr("shard 3 of 4"))));
}

}  // namespace
}  // namespace nf4bench::cli
