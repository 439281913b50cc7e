// What an attacker would hand to the program in place of a report or a configuration.

#include "base/atomic_file.hpp"
#include "base/text.hpp"
#include "cli/outcome.hpp"
#include "compare/report_maker.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <vector>

namespace nf4bench {
namespace {

namespace fs = std::filesystem;

using test::named_run;
using test::Outcome;
using test::ScratchFolder;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr std::int64_t kMiB = 1 << 20;

// Clears the screen, with ESC and with the CSI of C1; then turns the order of the text around.
const std::string kEscapes =
    "\x1b[2J\xc2\x9b"
    "2J\xe2\x80\xae";

// Characters that a terminal would act on, apart from the ends of lines.
std::size_t disturbing_characters(std::string_view text) {
  std::size_t count = 0;
  while (!text.empty()) {
    const Utf8Front front = utf8_front(text);
    const bool is_line_end = text[0] == '\n' || text.starts_with("\r\n");
    if (!front.is_character || (disturbs_terminal(front.code_point) && !is_line_end)) ++count;
    text.remove_prefix(front.length);
  }
  return count;
}

class HostileInput : public testing::Test {
 protected:
  // The program with `arguments`, ended when it takes long: its exit code is 124 then.
  Outcome run(const std::string& arguments) const {
    return test::shell(
        fmt::format("cd '{}' && timeout 10 \"$NF4BENCH\" {}", folder.path(""), arguments));
  }

  void write(const std::string& name, const record::Report& report) const {
    write_file(folder.path(name), report::to_json(report));
  }

  ScratchFolder folder;
};

// Each way to read a file, which stands for FILE, with the exit code for one that is none.
struct Reader {
  const char* arguments;
  int exit_code;
};
constexpr Reader kReaders[] = {
    {"export FILE --to csv", 3},
    {"compare FILE good.json", 3},
    {"compare good.json FILE", 3},
    {"compare good.json --base FILE", 3},
    {"compare good.json --save-baseline x FILE", 3},
    {"history FILE", 3},
    {"check FILE", 3},
    {"merge good.json --expect FILE -o fleet.json", 3},
    {"merge FILE -o fleet.json", 3},
    {"fleet FILE", 3},
    {"--config FILE list presets", 2},
};

std::string with_file(std::string arguments, const std::string& file) {
  return arguments.replace(arguments.find("FILE"), 4, file);
}

TEST_F(HostileInput, WhatIsNoRegularFileIsRefusedAtOnce) {
  write("good.json", named_run("good", 1, {{"fused", 30e-6}}).report);
  ASSERT_EQ(mkfifo(folder.path("fifo").c_str(), 0600), 0);
  ASSERT_EQ(symlink("fifo", folder.path("link").c_str()), 0);
  ASSERT_TRUE(fs::create_directory(folder.path("folder.d")));
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  folder.path("socket").copy(address.sun_path, sizeof(address.sun_path) - 1);
  const int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  ASSERT_EQ(bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  close(listener);
  struct Kind {
    const char* file;
    const char* found;
  };
  for (const Kind& kind : {Kind{"fifo", "found a FIFO, wanted a regular file"},
                           Kind{"link", "found a FIFO, wanted a regular file"},
                           Kind{"folder.d", "directory"}, Kind{"socket", "cannot be opened"},
                           Kind{"/dev/zero", "found a character device, wanted a regular file"},
                           Kind{"absent", "cannot be opened"}}) {
    for (const Reader& reader : kReaders) {
      const std::string arguments = reader.arguments;
      const bool reads_folders = arguments == "history FILE" || arguments == "check FILE" ||
                                 arguments.starts_with("merge FILE");
      if (reads_folders && kind.file == std::string("folder.d")) continue;
      SCOPED_TRACE(with_file(reader.arguments, kind.file));
      EXPECT_THAT(run(with_file(reader.arguments, kind.file)),
                  test::Ends(reader.exit_code, HasSubstr(kind.found)));
    }
  }
}

TEST_F(HostileInput, WhatIsTooLargeIsRefusedBeforeItIsRead) {
  write("good.json", named_run("good", 1, {{"fused", 30e-6}}).report);
  write_file(folder.path("large"), "");
  fs::resize_file(folder.path("large"), 100'000 * kMiB);
  for (const Reader& reader : kReaders) {
    SCOPED_TRACE(reader.arguments);
    const Outcome outcome = run(with_file(reader.arguments, "large"));
    EXPECT_EQ(outcome.exit_code, reader.exit_code);
    EXPECT_THAT(outcome.err, HasSubstr("size: found 104857600000 bytes, wanted at most "));
    EXPECT_LT(outcome.peak_bytes, 200 * kMiB);
  }
}

TEST_F(HostileInput, FilesOfTheKernelThatNeverEndAreEmpty) {
  EXPECT_THAT(run("export /proc/self/environ --to csv"), test::Ends(3, HasSubstr("no valid JSON")));
}

TEST_F(HostileInput, ABaselineThatIsAPipeIsRefused) {
  write("good.json", named_run("good", 1, {{"fused", 30e-6}}).report);
  ASSERT_EQ(run("compare good.json --save-baseline main").exit_code, 0);
  for (const auto& entry : fs::recursive_directory_iterator(folder.path(""))) {
    if (entry.path().filename() != "run-001.json") continue;
    fs::remove(entry.path());
    ASSERT_EQ(mkfifo(entry.path().c_str(), 0600), 0);
  }
  EXPECT_THAT(run("compare good.json --baseline main"), test::Ends(3, HasSubstr("found a FIFO")));
}

TEST_F(HostileInput, AHistoryPassesOverPipesAndNamesFewOfManyBadFiles) {
  write("good.json", named_run("good", 1, {{"fused", 30e-6}}).report);
  for (int i = 0; i < 50; ++i) {
    ASSERT_EQ(mkfifo(folder.path(fmt::format("pipe{:02}.json", i)).c_str(), 0600), 0);
  }
  EXPECT_THAT(run("history ."),
              test::Ends(0, AllOf(HasSubstr("pipe00.json: file type: found a FIFO"),
                                  HasSubstr("pipe19.json"), Not(HasSubstr("pipe20.json")),
                                  HasSubstr("passed over: 30 more\n"))));
}

// A report whose every text holds control characters, on a machine of that name.
record::Report disturbing_run(int minute, const std::string& driver) {
  record::Report report = named_run("run", minute, {{"fused" + kEscapes, 30e-6}}).report;
  for (std::string* text : {&report.device.name, &report.device.uuid, &report.host.name,
                            &report.tool.compiler, &report.tool.version, &report.tool.git_commit,
                            &report.settings.baseline, &report.tensors[0].name}) {
    *text += kEscapes;
  }
  report.device.driver = driver + kEscapes;
  report.warnings = {kEscapes};
  return report;
}

TEST_F(HostileInput, NoTextOfAReportReachesTheTerminalAsItIs) {
  write("a.json", disturbing_run(1, "1"));
  write("b.json", disturbing_run(2, "1"));
  write("other.json", disturbing_run(3, "2"));
  write(kEscapes + ".json", disturbing_run(4, "1"));
  const std::string odd = "'" + kEscapes + ".json'";
  for (const std::string& arguments :
       {std::string("compare a.json b.json"), std::string("compare a.json other.json"),
        "compare a.json " + odd, std::string("compare a.json other.json --json"),
        std::string("compare a.json b.json --format markdown"),
        std::string("compare a.json --save-baseline main"), std::string("history ."),
        std::string("history . --json"), std::string("history '") + kEscapes + "'",
        std::string("list '") + kEscapes + "'", std::string("run '") + kEscapes + "'",
        std::string("export a.json --to '") + kEscapes + "'",
        std::string("--config '") + kEscapes + "' list presets"}) {
    SCOPED_TRACE(escaped(arguments));
    const Outcome outcome = run(arguments);
    EXPECT_NE(outcome.out + outcome.err, "");
    EXPECT_EQ(disturbing_characters(outcome.out + outcome.err), 0u);
  }
  for (const char* format : {"csv", "markdown", "html", "google-benchmark", "nvbench", "bencher",
                             "openmetrics", "github-action", "reframe", "marking"}) {
    SCOPED_TRACE(format);
    const Outcome outcome = run(std::string("export a.json --to ") + format);
    EXPECT_EQ(outcome.exit_code, 0);
    EXPECT_EQ(disturbing_characters(outcome.out), 0u);
  }
}

TEST_F(HostileInput, AConfigurationOfManyTablesInsideEachOtherIsRefused) {
  std::string key = "a";
  for (int i = 0; i < 500'000; ++i) key += ".a";
  write_file(folder.path("deep.toml"), key + " = 1");
  const Outcome dots = run("--config deep.toml list presets");
  EXPECT_EQ(dots.exit_code, 2);
  EXPECT_THAT(dots.err, HasSubstr("deep.toml: has more than 2000 dots"));
  write_file(folder.path("deep.toml"), "a = " + std::string(500'000, '['));
  EXPECT_EQ(run("--config deep.toml list presets").exit_code, 2);
  std::string inner = "1";
  for (int i = 0; i < 100'000; ++i) inner = "{a=" + std::move(inner);
  write_file(folder.path("deep.toml"), "a = " + inner);
  EXPECT_EQ(run("--config deep.toml list presets").exit_code, 2);
}

// Peak memory of an export beyond that of the program itself, in multiples of the report's size.
double memory_of_export(const ScratchFolder& folder, const std::string& format) {
  constexpr std::int64_t kProgram = 24 * kMiB;
  const auto bytes = static_cast<double>(fs::file_size(folder.path("big.json")));
  const Outcome outcome =
      test::nf4bench({"export", folder.path("big.json"), "--to", format, "-o", "/dev/null"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  return static_cast<double>(outcome.peak_bytes - kProgram) / bytes;
}

TEST_F(HostileInput, ManySamplesTakeLittleMemory) {
  record::Report report = named_run("big", 1, {{"fused", 30e-6}}).report;
  std::vector<double>& samples = report.measurements[0].samples_s;
  for (int i = 0; i < 200'000; ++i) samples.push_back(30e-6 + 1e-18 * i);
  report.measurements[0].time_s = statistics::summarize(samples);
  report.measurements[0].sm_clock_hz.clear();
  write("big.json", report);
  for (const char* format : {"csv", "google-benchmark", "nvbench"}) {
    EXPECT_LT(memory_of_export(folder, format), 4.0) << format;
  }
}

TEST_F(HostileInput, ManyRowsTakeLittleMemory) {
  record::Report report = named_run("big", 1, {{"fused", 30e-6}}).report;
  report.measurements[0].samples_s.resize(2);
  report.measurements[0].time_s = statistics::summarize(report.measurements[0].samples_s);
  report.measurements[0].sm_clock_hz.clear();
  const record::Measurement row = report.measurements[0];
  for (int i = 0; i < 5'000; ++i) {
    report.measurements.push_back(row);
    report.measurements.back().variant = fmt::format("v{}", i);
  }
  write("big.json", report);
  for (const char* format : {"csv", "google-benchmark", "nvbench", "bencher", "github-action"}) {
    EXPECT_LT(memory_of_export(folder, format), 4.0) << format;
  }
}

}  // namespace
}  // namespace nf4bench
