// No command destroys what it reads, or a file that it did not make.

#include "cli/outcome.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace nf4bench::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;

// Would take an hour if it measured anything.
Words endless(const Words& more) {
  return Words{"run",        "--device", "cpu",           "--cache", "hot",       "--no-ceilings",
               "--max-time", "3600",     "--min-samples", "1000000", "--variant", "simd"} +
         more;
}

Words quick(const Words& more) {
  return Words{"run",  "--device",      "cpu", "--cache",   "hot",  "--no-ceilings", "--max-time",
               "0.02", "--min-samples", "3",   "--variant", "simd", "--quiet"} +
         more;
}

class OutputSafety : public testing::Test {
 protected:
  void SetUp() override {
    fs::copy(sample("llama_layer.safetensors"), input());
    fs::copy(sample("sharded"), path("model"));
    before_ = read_file(input());
  }

  std::string path(const std::string& name) const { return scratch_.path(name); }
  std::string input() const { return path("in.safetensors"); }

  // The command ends with a usage error that has `reason` in its one line, and the input is whole.
  void expect_refused(const Words& words, const std::string& reason) const {
    EXPECT_THAT(nf4bench(words), AllOf(Ends(2, HasSubstr(reason)), Prints(IsEmpty())));
    EXPECT_TRUE(read_file(input()) == before_) << "the input was changed";
  }

  ScratchFolder scratch_;
  std::string before_;
};

TEST_F(OutputSafety, AReportNeverReplacesItsInputByAnyName) {
  fs::create_symlink("in.safetensors", path("link.json"));
  fs::create_symlink("link.json", path("second.json"));
  fs::create_hard_link(input(), path("hard.json"));
  fs::create_directory(path("sub"));
  for (const std::string name : {"link.json", "second.json", "hard.json", "./hard.json",
                                 "sub/../hard.json", "sub/.././sub/../link.json"}) {
    SCOPED_TRACE(name);
    expect_refused(endless({input(), "--json", path(name)}), "is a file of the input");
    expect_refused(endless({input(), "--json", path(name), "--force"}), "is a file of the input");
    expect_refused(endless({input(), "--json", path(name), "--dry-run"}), "is a file of the input");
  }
  expect_refused(endless({path("hard.json"), "--json", path("link.json")}),
                 "is a file of the input");
}

TEST_F(OutputSafety, AReportIsNeverNamedAsTensorsAre) {
  for (const std::string name :
       {"in.safetensors", "new.safetensors", "model/new.safetensors.index.json", "x.npy", "x.npz",
        "w.quant_state.json"}) {
    expect_refused(endless({input(), "--json", path(name)}), "named as a file of tensors");
    EXPECT_EQ(fs::exists(path(name)), name == "in.safetensors");
  }
}

TEST_F(OutputSafety, AReportNeverReplacesAShardAnIndexAPeerOrAConfiguration) {
  fs::create_hard_link(path("model/model-00002-of-00002.safetensors"), path("shard.json"));
  fs::create_symlink("model/model.safetensors.index.json", path("index.json"));
  for (const std::string source : {"model", "model/", "model/model.safetensors.index.json"}) {
    expect_refused(endless({path(source), "--json", path("shard.json")}), "a file of the input");
    expect_refused(endless({path(source), "--json", path("index.json")}), "the index of the input");
  }
  shell("printf 'no library' > " + path("peer.so"));
  expect_refused(
      endless({input(), "--peer", "mine=" + path("peer.so"), "--json", path("peer.so"), "--force"}),
      "the library of a peer");
  shell("printf '[run]\\ninput = [\"" + input() + "\"]\\n' > " + path("bench.toml"));
  expect_refused(endless({"--config", path("bench.toml"), "--json", path("bench.toml"), "--force"}),
                 "the configuration file");
  Command command = nf4bench_command(endless({"--json", path("bench.toml"), "--force"}));
  command.environment.push_back("NF4BENCH_CONFIG=" + path("bench.toml"));
  EXPECT_THAT(Process(command).wait().err, HasSubstr("the configuration file"));
}

TEST_F(OutputSafety, TheConfigThatTellsTheShapesOfExpertsIsAnInputToo) {
  fs::create_directory(path("experts"));
  fs::copy(sample("moe/experts4bit.safetensors"), path("experts/model.safetensors"));
  const std::string config =
      R"({"hidden_size": 128, "moe_intermediate_size": 96, "num_experts": 2})";
  std::ofstream(path("experts/config.json")) << config;
  fs::create_symlink("experts/config.json", path("link.json"));
  for (const std::string source : {"experts", "experts/model.safetensors"}) {
    expect_refused(endless({path(source), "--json", path("link.json"), "--force"}),
                   "is the config.json of the input");
  }
  EXPECT_EQ(read_file(path("experts/config.json")), config);
}

TEST_F(OutputSafety, ANpyFolderAndAnArchiveAreInputsToo) {
  fs::copy(sample("npy"), path("npy"));
  fs::create_hard_link(path("npy/s5x77.weight.absmax.npy"), path("absmax.json"));
  expect_refused(endless({path("npy"), "--json", path("absmax.json")}), "a file of the input");
  fs::copy(sample("npz/savez.npz"), path("x.npz"));
  fs::create_symlink("x.npz", path("x.json"));
  expect_refused(endless({path("x.npz"), "--json", path("x.json")}), "a file of the input");
}

TEST_F(OutputSafety, StdoutThatIsAppendedToAnInputIsRefused) {
  EXPECT_THAT(shell("$NF4BENCH run --device cpu --json - " + input() + " >> " + input()), Ends(2));
  EXPECT_TRUE(read_file(input()) == before_);
}

// A lock and temporary files lie beside a report, are emptied and removed.
TEST_F(OutputSafety, InputsWithTheNamesOfHelperFilesAreNotTouched) {
  for (const std::string name : {".out.json.lock", ".out.json.0123abcd.tmp"}) {
    fs::rename(input(), path(name));
    EXPECT_THAT(nf4bench(endless({path(name), "--json", path("out.json")})), Ends(2));
    EXPECT_TRUE(read_file(path(name)) == before_) << name;
    fs::rename(path(name), input());
  }
  fs::create_hard_link(input(), path(".out.json.lock"));
  expect_refused(endless({input(), "--json", path("out.json")}), "which would be lost");
}

TEST_F(OutputSafety, AFileThatIsNoLockIsNotTakenForOne) {
  const std::string mine = "my notes, not a lock";
  shell("printf '" + mine + "' > " + path(".out.json.lock"));
  EXPECT_EQ(nf4bench(quick({"--shape", "8x64", "--json", path("out.json")})).exit_code, 0);
  EXPECT_EQ(read_file(path(".out.json.lock")), mine);
}

TEST_F(OutputSafety, OtherFilesAreReplacedOnlyWithForce) {
  shell("echo mine > " + path("notes.json"));
  expect_refused(endless({input(), "--json", path("notes.json")}),
                 "exists and is not a report of nf4bench; --force replaces it");
  EXPECT_EQ(read_file(path("notes.json")), "mine\n");
  const Words run = quick({"--shape", "8x64", "--json", path("notes.json")});
  EXPECT_EQ(nf4bench(run + Words{"--force"}).exit_code, 0);
  EXPECT_EQ(json::parse(read_file(path("notes.json"))).at("complete"), true);
  EXPECT_EQ(nf4bench(run).exit_code, 0);  // a report now
  shell(": > " + path("empty.json"));
  EXPECT_EQ(nf4bench(quick({"--shape", "8x64", "--json", path("empty.json")})).exit_code, 0);
}

TEST_F(OutputSafety, ForceComesFromTheCommandLineAlone) {
  shell("echo mine > " + path("notes.json"));
  Command command = nf4bench_command(endless({input(), "--json", path("notes.json")}));
  command.environment.emplace_back("NF4BENCH_RUN_FORCE=true");
  EXPECT_EQ(Process(command).wait().exit_code, 2);
  shell("printf '[run]\\nforce = true\\n' > " + path("bench.toml"));
  expect_refused(endless({input(), "--json", path("notes.json"), "--config", path("bench.toml")}),
                 "from the command line alone");
  EXPECT_EQ(read_file(path("notes.json")), "mine\n");
}

TEST_F(OutputSafety, AFileThatAppearsDuringTheRunIsNotReplaced) {
  Process process(nf4bench_command(endless({input(), "--json", path("out.json"), "--quiet"})));
  for (int i = 0; i < 4000 && !fs::exists(path("out.json")); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  fs::copy_file(input(), path("model.tmp"));
  fs::rename(path("model.tmp"), path("out.json"));
  process.send(SIGTERM);
  EXPECT_THAT(process.wait(), Ends(143, HasSubstr("is not a report of nf4bench")));
  EXPECT_TRUE(read_file(path("out.json")) == before_);
}

struct BadPath {
  const char* name;
  const char* reason;
};

TEST_F(OutputSafety, PathsThatCannotBeAFileAreRefusedBeforeMeasuring) {
  fs::create_symlink("round.json", path("loop.json"));
  fs::create_symlink("loop.json", path("round.json"));
  fs::create_symlink("gone/report.json", path("dangling.json"));
  shell("echo mine > " + path("file"));
  ASSERT_EQ(mkfifo(path("fifo").c_str(), 0600), 0);
  for (const BadPath& each :
       {BadPath{"loop.json", "symbolic links"}, BadPath{"dangling.json", "No such file"},
        BadPath{"missing/report.json", "No such file"},
        BadPath{"missing/", "is the name of a folder"}, BadPath{"file/", "Not a directory"},
        BadPath{"file/report.json", "Not a directory"}, BadPath{"model", "is a folder"},
        BadPath{"fifo", "is a FIFO"}}) {
    EXPECT_THAT(nf4bench(endless({input(), "--json", path(each.name)})),
                AllOf(Ends(3, HasSubstr(each.reason)), Prints(IsEmpty())))
        << each.name;
  }
  EXPECT_TRUE(fs::is_symlink(path("loop.json")));
  EXPECT_TRUE(fs::is_fifo(path("fifo")));
}

TEST_F(OutputSafety, ADanglingLinkIsWrittenThrough) {
  fs::create_symlink("target.json", path("link.json"));
  EXPECT_EQ(nf4bench(quick({"--shape", "8x64", "--json", path("link.json")})).exit_code, 0);
  EXPECT_TRUE(fs::is_symlink(path("link.json")));
  EXPECT_EQ(json::parse(read_file(path("target.json"))).at("complete"), true);
}

TEST_F(OutputSafety, NamesOfStdoutAndNullStayUsable) {
  const std::string run =
      "$NF4BENCH run --device cpu --cache hot --no-ceilings --max-time 0.02 --min-samples 3 "
      "--variant simd --shape 8x64 --json ";
  for (const std::string name : {"/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"}) {
    const Outcome piped = shell(run + name);
    EXPECT_EQ(piped.exit_code, 0) << name << piped.err;
    EXPECT_TRUE(json::accept(piped.out)) << name;
    EXPECT_THAT(piped.err, HasSubstr("8x64")) << "the table moves to stderr";
    const std::string file = path("out.json");
    EXPECT_EQ(shell(run + name + " > " + file).exit_code, 0) << name;
    EXPECT_TRUE(json::accept(read_file(file))) << name;
  }
  const Outcome same = shell(run + path("same.json") + " > " + path("same.json"));
  EXPECT_EQ(same.exit_code, 0);
  EXPECT_TRUE(json::accept(read_file(path("same.json"))));
  EXPECT_THAT(shell(run + "/dev/null"), AllOf(Ends(0), Prints(HasSubstr("8x64"))));
}

TEST_F(OutputSafety, APipeWhoseReaderIsGoneIsAnErrorAndNoHang) {
  const Outcome outcome = shell(
      "timeout 60 $NF4BENCH run --device cpu --cache hot --no-ceilings --max-time 0.02 "
      "--min-samples 3 --variant simd --shape 8x64 --quiet --json >(exec true); echo $?");
  EXPECT_THAT(outcome.out, testing::AnyOf("3\n", "141\n")) << outcome.err;
}

TEST_F(OutputSafety, DequantizeNeverReplacesItsInput) {
  fs::create_symlink("in.safetensors", path("link.safetensors"));
  fs::create_hard_link(input(), path("hard.safetensors"));
  for (const std::string name : {"in.safetensors", "link.safetensors", "hard.safetensors"}) {
    expect_refused({"dequantize", input(), "-o", path(name), "--device", "cpu", "--force"},
                   "is a file of the input");
  }
  const std::string shard = path("model/model-00002-of-00002.safetensors");
  const std::string bytes = read_file(shard);
  for (const std::string source : {"model", "model/model.safetensors.index.json"}) {
    expect_refused({"dequantize", path(source), "-o", shard, "--device", "cpu", "--force"},
                   "is a file of the input");
  }
  EXPECT_TRUE(read_file(shard) == bytes);
}

// Without an index all .safetensors files of a folder are its shards; beside .npy files one is read
// instead of them.
TEST_F(OutputSafety, DequantizeDoesNotWriteIntoTheFolderThatItReads) {
  fs::copy(sample("npy"), path("npy"));
  fs::create_symlink("npy/new.safetensors", path("link.safetensors"));
  expect_refused({"dequantize", path("npy"), "-o", path("npy/new.safetensors"), "--device", "cpu"},
                 "lies in the folder of the input");
  expect_refused({"dequantize", path("npy"), "-o", path("link.safetensors"), "--device", "cpu"},
                 "lies in the folder of the input");
  EXPECT_FALSE(fs::exists(path("npy/new.safetensors")));
}

TEST_F(OutputSafety, DequantizeReplacesItsOwnFilesAndOthersWithForce) {
  const Words decode = {"dequantize", input(), "-o", path("out.safetensors"), "--device", "cpu"};
  EXPECT_EQ(nf4bench(decode).exit_code, 0);
  EXPECT_EQ(nf4bench(decode).exit_code, 0);
  fs::copy_file(sample("dtypes.safetensors"), path("out.safetensors"),
                fs::copy_options::overwrite_existing);
  expect_refused(decode, "exists and is not a file of tensors that nf4bench wrote; --force");
  EXPECT_EQ(read_file(path("out.safetensors")), read_file(sample("dtypes.safetensors")));
  EXPECT_EQ(nf4bench(decode + Words{"--force"}).exit_code, 0);
}

TEST_F(OutputSafety, SynthReplacesItsOwnFilesAndOthersWithForce) {
  const Words one = {"synth", "--shape", "w=8x64", "-o"};
  EXPECT_EQ(nf4bench(one + Words{path("new.safetensors")}).exit_code, 0);
  EXPECT_EQ(nf4bench(one + Words{path("new.safetensors")}).exit_code, 0);
  expect_refused(one + Words{input()}, "--force");
  EXPECT_EQ(nf4bench(one + Words{path("arrays/")}).exit_code, 0);
  const std::string weight = read_file(path("arrays/w.npy"));
  expect_refused(one + Words{path("arrays/"), "--seed", "2"}, "--force");
  EXPECT_EQ(read_file(path("arrays/w.npy")), weight);
  EXPECT_EQ(nf4bench(one + Words{path("arrays/"), "--seed", "2", "--force"}).exit_code, 0);
  EXPECT_NE(read_file(path("arrays/w.npy")), weight);
}

TEST_F(OutputSafety, ExportReplacesExportsOfItsFormatAndOthersWithForce) {
  ASSERT_EQ(nf4bench(quick({"--shape", "8x64", "--baseline", "simd", "--json", path("r.json")}))
                .exit_code,
            0);
  fs::create_hard_link(path("r.json"), path("hard.csv"));
  expect_refused({"export", path("r.json"), "--to", "csv", "-o", path("hard.csv"), "--force"},
                 "is a report that is read");
  expect_refused({"export", path("r.json"), "--to", "csv", "-o", input(), "--force"},
                 "named as a file of tensors");
  shell("echo mine > " + path("out"));
  for (const std::string format : {"csv", "markdown", "google-benchmark", "nvbench", "bencher",
                                   "openmetrics", "html", "github-action", "reframe", "marking"}) {
    SCOPED_TRACE(format);
    const Words write = {"export", path("r.json"), "--to", format, "-o", path("out")};
    expect_refused(write, "exists and is not an export of nf4bench to " + format + "; --force");
    EXPECT_EQ(nf4bench(write + Words{"--force"}).exit_code, 0);
    EXPECT_EQ(nf4bench(write).exit_code, 0);  // its own format
  }
}

TEST_F(OutputSafety, ABaselineNeverReplacesAReportThatIsReadOrForeignFiles) {
  const auto report = [&](const std::string& name) {
    EXPECT_EQ(nf4bench(quick({"--shape", "8x64", "--json", path(name)})).exit_code, 0);
    return path(name);
  };
  const Words save = {"compare", "--save-baseline", "main", "--baseline-dir", path("store")};
  ASSERT_EQ(nf4bench(save + Words{report("a.json"), report("b.json")}).exit_code, 0);
  ASSERT_EQ(nf4bench(save + Words{path("a.json")}).exit_code, 0);  // replaces the older one
  std::string folder;
  for (const auto& each : fs::directory_iterator(path("store"))) {
    folder = (each.path() / "main").string();
  }
  const std::string stored = folder + "/run-001.json";
  expect_refused(save + Words{stored}, "is a report that is read");
  ASSERT_TRUE(fs::exists(stored));
  shell("echo mine > " + folder + "/notes.txt");
  expect_refused(save + Words{path("b.json")}, "--force");
  ASSERT_TRUE(fs::exists(folder + "/notes.txt"));
  EXPECT_EQ(nf4bench(save + Words{path("b.json"), "--force"}).exit_code, 0);
  EXPECT_FALSE(fs::exists(folder + "/notes.txt"));
}

}  // namespace
}  // namespace nf4bench::test
