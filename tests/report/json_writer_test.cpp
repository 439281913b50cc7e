#include "report/golden_file.hpp"
#include "report/host.hpp"
#include "report/report.hpp"
#include "report/sample_reports.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <limits>

namespace nf4bench {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(JsonWriter, WritesTheGoldenGpuReport) {
  expect_golden("gpu.json", report::to_json(gpu_report()));
}

TEST(JsonWriter, WritesTheGoldenCpuReport) {
  expect_golden("cpu.json", report::to_json(cpu_report()));
}

TEST(JsonWriter, WritesTheGoldenReportOfMatrixProducts) {
  expect_golden("matmul.json", report::to_json(matmul_report()));
}

TEST(JsonWriter, WritesAnEmptyReport) {
  expect_golden("empty.json", report::to_json(record::Report()));
}

TEST(JsonWriter, EndsInOneNewline) {
  const std::string text = report::to_json(gpu_report());
  EXPECT_TRUE(text.ends_with("}\n"));
}

TEST(JsonWriter, GivesEverySampleArrayOneLine) {
  const auto lines = [](const record::Report& report) {
    const std::string text = report::to_json(report);
    return std::ranges::count(text, '\n');
  };
  record::Report report = gpu_report();
  report.measurements[0].samples_s.assign(4000, 1.5e-5);
  report.measurements[0].sm_clock_hz.assign(4000, 1.98e9);
  EXPECT_EQ(lines(report), lines(gpu_report()));
}

// Sets every measured number of `report` to `value`.
void spoil_numbers(record::Report& report, double value) {
  report.device.peak_bytes_per_s = value;
  report.state_before.sm_clock_hz = value;
  report.state_after->temperature_c = value;
  report.ceilings.copy_bytes_per_s = value;
  report.ceilings.event_overhead_s = value;
  report.stream_ceilings[0].bytes_per_s = value;
  record::Measurement& m = report.measurements[0];
  m.time_s->mad = value;
  m.bytes_per_s = value;
  m.fraction_of_copy = value;
  m.fraction_of_stream = value;
  m.speedup->ci95->high = value;
  m.samples_s[1] = value;
  m.sm_clock_hz[4] = value;
}

TEST(JsonWriter, NeverWritesNan) {
  for (const double value : {kNan, kInfinity, -kInfinity}) {
    record::Report report = gpu_report();
    spoil_numbers(report, value);
    const auto json = nlohmann::json::parse(report::to_json(report));
    const auto& m = json["measurements"][0];
    EXPECT_TRUE(m["time_s"].is_null());
    EXPECT_TRUE(m["bytes_per_s"].is_null());
    EXPECT_TRUE(m["speedup"].is_null());
    EXPECT_TRUE(m["samples_s"].empty());
    EXPECT_TRUE(m["sm_clock_hz"].empty());
    EXPECT_TRUE(json["ceilings"]["copy_bytes_per_s"].is_null());
    EXPECT_TRUE(json["device"]["peak_bytes_per_s"].is_null());
  }
}

TEST(JsonWriter, WarnsOfEachNumberItLeftOut) {
  record::Report report = gpu_report();
  spoil_numbers(report, kNan);
  const auto warnings = nlohmann::json::parse(report::to_json(report))["warnings"];
  ASSERT_EQ(warnings.size(), 14U);  // one was there before
  const std::string all = warnings.dump();
  for (const char* field :
       {"device.peak_bytes_per_s", "device.state_before.sm_clock_hz",
        "device.state_after.temperature_c", "ceilings.copy_bytes_per_s",
        "ceilings.event_overhead_s", "ceilings.stream[0].bytes_per_s", "measurements[0].time_s",
        "measurements[0].bytes_per_s", "measurements[0].fraction_of_copy",
        "measurements[0].fraction_of_stream", "measurements[0].speedup",
        "measurements[0].samples_s", "measurements[0].sm_clock_hz"}) {
    EXPECT_NE(all.find(std::string("\"") + field + " is not a finite number and was left out"),
              std::string::npos)
        << field;
  }
}

TEST(Anonymous, LeavesNoFolderOfAnyFile) {
  record::Report report = gpu_report();
  report.command = {"nf4bench",
                    "run",
                    "alice/run=3/m.safetensors",
                    "step=4/n.safetensors",
                    "/home/alice/o.npz",
                    "--peer=mine=../a=b/libmine.so",
                    "--json=alice/a.json",
                    "--raw",
                    "weight=bob/w.npy,absmax=carol/a.npy,shape=64x64",
                    "--routing",
                    "dave/ids.npy"};
  report.tensors[0].source = "alice/run=3/m.safetensors";
  report.tensors[1].source = "step=4/n.safetensors";
  report.settings.experts = record::ExpertChoice{.top_k = 2, .routing = "dave/ids.npy"};
  report.warnings = {"step=4/n.safetensors: odd", "peer mine: ../a=b/libmine.so: old"};
  const record::Report found = report::anonymous(report);
  EXPECT_THAT(found.command, testing::ElementsAre(
                                 "nf4bench", "run", "m.safetensors", "n.safetensors", "o.npz",
                                 "--peer=mine=libmine.so", "--json=a.json", "--raw",
                                 "weight=w.npy,absmax=a.npy,shape=64x64", "--routing", "ids.npy"));
  EXPECT_EQ(found.tensors[0].source, "m.safetensors");
  EXPECT_EQ(found.settings.experts->routing, "ids.npy");
  EXPECT_THAT(found.warnings,
              testing::ElementsAre("n.safetensors: odd", "peer mine: libmine.so: old"));
}

TEST(PeerFile, IsKnownByItsContent) {
  const std::string path = testing::TempDir() + "peer_file.so";
  std::ofstream(path) << "abc";
  const record::PeerFile file = report::peer_file("mine", path);
  EXPECT_EQ(file.file, path);
  EXPECT_EQ(file.bytes, 3);
  EXPECT_EQ(file.sha256, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_LE(file.modified_at, report::utc_now());
  EXPECT_EQ(file.modified_at.size(), report::utc_now().size());
  EXPECT_EQ(report::peer_file("mine", path + ".not").sha256, "");
  EXPECT_FALSE(report::peer_file("mine", path + ".not").bytes);
}

TEST(JsonWriter, WritesReadableTextForHostileNames) {
  record::Report report = cpu_report();
  report.tensors[0].name = "a\xff\x1b[31m\n\"";
  const auto json = nlohmann::json::parse(report::to_json(report));
  EXPECT_EQ(json["tensors"][0]["name"], "a\xef\xbf\xbd\x1b[31m\n\"");
}

}  // namespace
}  // namespace nf4bench
