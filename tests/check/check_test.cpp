// Reports that were made on H200s, and what liars make of them.

#include "check/check.hpp"

#include "base/error.hpp"
#include "operation/operation.hpp"
#include "source_dir.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <random>
#include <stdexcept>

namespace nf4bench {
namespace {

using check::Code;
using nlohmann::json;

constexpr char kNow[] = "2026-12-01T00:00:00Z";

std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("there is no " + path.string());
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

const json& honest() {
  static const json report =
      json::parse(text_of(NF4BENCH_SOURCE_DIR "/docs/results/h200/plain.json"));
  return report;
}

// The codes that refuse `report`.
std::vector<std::string> refusals(const json& report, int copies = 1) {
  std::vector<report::NamedReport> reports;
  try {
    for (int i = 0; i < copies; ++i) {
      reports.push_back({fmt::format("{}.json", i), report::report_from_json(report.dump(), "r")});
    }
  } catch (const Error&) {
    return {to_string(Code::kUnreadable)};
  }
  std::vector<std::string> codes;
  const std::vector<check::Checked> checked = check::check_reports(reports, kNow);
  for (const check::Finding& finding : checked.back().findings) {
    if (check::refuses(finding.code)) codes.emplace_back(to_string(finding.code));
  }
  return codes;
}

json& row(json& report, std::size_t index = 1) {
  return report["measurements"][index];
}

std::vector<double> samples(json& row) {
  return row["samples_s"].get<std::vector<double>>();
}

// Puts `samples` there with all that follows from them but speedups, as a careful liar would.
void replace_samples(json& report, std::size_t index, const std::vector<double>& samples) {
  json& changed = row(report, index);
  const statistics::Summary time = statistics::summarize(samples);
  const double scale = time.median / changed["time_s"]["median"].get<double>();
  changed["samples_s"] = samples;
  changed["time_s"] = {{"median", time.median},
                       {"mean", time.mean},
                       {"min", time.min},
                       {"p05", time.p05},
                       {"p95", time.p95},
                       {"mad", time.mad},
                       {"ci95", {time.ci95->low, time.ci95->high}}};
  for (const char* const rate : {"bytes_per_s", "fraction_of_copy"}) {
    changed[rate] = changed[rate].get<double>() / scale;
  }
}

// The same for its speedup, so that only the samples themselves tell.
void replace_with_speedup(json& report, std::size_t index, const std::vector<double>& samples) {
  constexpr std::size_t kBaseline = 2;
  replace_samples(report, index, samples);
  const std::vector<double> baseline = nf4bench::samples(row(report, kBaseline));
  const statistics::PairedRatio paired = statistics::paired_ratio(baseline, samples);
  row(report, index)["speedup"]["ratio"] = paired.ratio;
  row(report, index)["speedup"]["ci95"] = {paired.ci95->low, paired.ci95->high};
}

std::vector<double> scaled(std::vector<double> samples, double factor) {
  for (double& sample : samples) sample *= factor;
  return samples;
}

struct Lie {
  std::string name;
  std::function<void(json&)> tell;
  std::string code;  // that refuses it, among others
};

void PrintTo(const Lie& lie, std::ostream* out) {
  *out << lie.name;
}

std::vector<Lie> lies() {
  using Row = std::function<void(json&)>;
  const auto in_row = [](const Row& change) { return [=](json& r) { change(row(r)); }; };
  const auto set = [](const std::string& path, const json& value) {
    return [=](json& r) { r[json::json_pointer(path)] = value; };
  };
  const auto with_samples = [](const std::function<void(std::vector<double>&)>& change) {
    return [=](json& r) {
      std::vector<double> found = samples(row(r));
      change(found);
      replace_with_speedup(r, 1, found);
    };
  };
  return {
      {"AMedianBesideItsSamples", set("/measurements/1/time_s/median", 3e-5), "unreadable"},
      {"AnIntervalBesideItsSamples", set("/measurements/1/time_s/ci95", {4.27e-5, 4.28e-5}),
       "unreadable"},
      {"ElementsThatAreNoProduct", set("/tensors/0/elements", 1 << 20), "unreadable"},
      {"ClocksOfOtherSamples", set("/measurements/1/sm_clock_hz", {1.98e9}), "unreadable"},
      {"AStatusOfItsOwn", set("/measurements/1/status", "great"), "unreadable"},
      {"TimesTenPerCentShorter",
       [](json& r) { replace_with_speedup(r, 1, scaled(samples(row(r)), 0.9)); }, "clock"},
      {"TimesHalfAsLong", [](json& r) { replace_with_speedup(r, 1, scaled(samples(row(r)), 0.5)); },
       "clock"},
      {"TimesInWholeNanoseconds", with_samples([](std::vector<double>& s) {
         for (double& each : s) each = std::round(each * 1e9) / 1e9;
       }),
       "clock"},
      {"TimesOfARandomGenerator", with_samples([](std::vector<double>& s) {
         std::mt19937 random(1);
         std::normal_distribution<double> times(4.2e-5, 1e-7);
         for (double& each : s) each = times(random);
       }),
       "clock"},
      {"TheFastestTimeEverywhere", with_samples([](std::vector<double>& s) {
         std::ranges::fill(s, *std::ranges::min_element(s));
       }),
       "samples"},
      {"TimesInOrder", with_samples([](std::vector<double>& s) { std::ranges::sort(s); }),
       "samples"},
      {"TimesOfAnotherRow", [](json& r) { replace_with_speedup(r, 0, samples(row(r, 1))); },
       "samples"},
      {"TimesOfAnotherRowALittleShorter",
       [](json& r) { replace_with_speedup(r, 0, scaled(samples(row(r, 1)), 0.99)); }, "samples"},
      {"ClocksThatNoCardHas",
       in_row([](json& m) { m["sm_clock_hz"] = std::vector<double>(m["samples_s"].size(), 3e9); }),
       "clock"},
      {"ARateAboveItsTime", set("/measurements/1/bytes_per_s", 4.7e12), "arithmetic"},
      {"BytesThatWereNeverMoved", in_row([](json& m) {
         m["bytes"]["written"] = m["bytes"]["written"].get<std::int64_t>() * 2;
         m["bytes_per_s"] = (m["bytes"]["written"].get<double>() + 37748736.0) /
                            m["time_s"]["median"].get<double>();
       }),
       "arithmetic"},
      {"AShareOfTheCopy", set("/measurements/1/fraction_of_copy", 0.99), "arithmetic"},
      {"ASpeedup", set("/measurements/1/speedup/ratio", 2.5), "arithmetic"},
      {"ASpeedupOverAnother", set("/measurements/1/speedup/baseline", "multi_kernel"),
       "arithmetic"},
      {"ABaselineOfAnotherRun",
       [](json& r) { replace_samples(r, 2, scaled(samples(row(r, 2)), 2)); }, "arithmetic"},
      {"NoVerification", set("/measurements/1/verification", nullptr), "unverified"},
      {"WrongValues", set("/measurements/1/verification/mismatches", 5), "unverified"},
      {"AnOutputSeenInPart", set("/measurements/1/verification/compared", 4096), "unverified"},
      {"MoreThanTheOutput", set("/measurements/1/verification/compared", 99999999), "unverified"},
      {"APassedRowWithAReason", set("/measurements/1/reason", "7 values differ"), "contradiction"},
      {"AFailedRowWithATime",
       [](json& r) {
         row(r)["status"] = "failed";
         row(r)["reason"] = "7 values differ";
       },
       "contradiction"},
      {"ARowTwice", [](json& r) { r["measurements"].push_back(row(r)); }, "contradiction"},
      {"ARowOfAnotherDevice", set("/measurements/1/device", "cuda:1"), "contradiction"},
      {"LargerThanItWas",
       [](json& r) {
         r["tensors"][0]["shape"] = {16384, 8192};
         r["tensors"][0]["elements"] = 16384 * 8192;
       },
       "arithmetic"},
      {"AnotherType", set("/measurements/1/output_dtype", "float32"), "arithmetic"},
      {"AnotherBlocksize", set("/tensors/0/blocksize", 128), "arithmetic"},
      {"NestedScales", set("/tensors/0/nested", true), "arithmetic"},
      {"MadeInTheFuture",
       [](json& r) {
         r["started_at"] = "2099-01-01T00:00:00Z";
         r["finished_at"] = "2099-01-01T00:00:02Z";
       },
       "dates"},
      {"EndedBeforeItBegan", set("/finished_at", "2026-11-22T17:15:44Z"), "dates"},
      {"ADateThatIsNone", set("/started_at", "yesterday"), "dates"},
      {"AVersionThatIsNone", set("/tool/version", "fast"), "build"},
      {"ACommitThatIsNone", set("/tool/git_commit", "main"), "build"},
      {"ADebugBuild", set("/tool/build_type", "Debug"), "build"},
      {"ABuildWithoutCuda", set("/tool/cuda_architectures", nullptr), "build"},
      {"MoreMultiprocessors", set("/device/multiprocessors", 144), "device"},
      {"AMemoryOfTomorrow", set("/device/peak_bytes_per_s", 8e12), "device"},
      {"AnotherCard", set("/device/name", "NVIDIA GeForce RTX 4090"), "device"},
      {"AnotherArchitecture", set("/device/compute_capability", 100), "device"},
      {"ProductsFasterThanTheTensorCores", in_row([](json& m) { m["flops_per_s"] = 2e15; }),
       "beyond_peak"},
      {"CopiesFasterThanTheMemory", set("/ceilings/copy_bytes_per_s", 5.5e12), "ceilings"},
      {"AMemorySlowerThanItsRows", set("/device/peak_bytes_per_s", 3.9e12), "beyond_peak"},
  };
}

class Lies : public testing::TestWithParam<Lie> {};

TEST_P(Lies, AreRefusedForWhatTheyAre) {
  json report = honest();
  GetParam().tell(report);
  EXPECT_THAT(refusals(report), testing::Contains(GetParam().code));
}

INSTANTIATE_TEST_SUITE_P(, Lies, testing::ValuesIn(lies()),
                         [](const auto& lie) { return lie.param.name; });

bool knows_cuda() {
  const std::vector<operation::BuiltIn> all = operation::built_in_catalogs();
  return std::ranges::any_of(
      all, [](const operation::BuiltIn& each) { return each.device == record::DeviceKind::kCuda; });
}

TEST(Check, RefusesAKernelThatNobodyKnows) {
  json report = honest();
  row(report)["variant"] = "my_kernel";
  if (!knows_cuda()) GTEST_SKIP() << "a build without CUDA does not know what one with it has";
  EXPECT_THAT(refusals(report), testing::Contains("unnamed_peer"));
}

TEST(Check, BearsTextsAndNumbersOfAnyLength) {
  json report = honest();
  report["tool"]["version"] = std::string(300'000, '1');
  EXPECT_THAT(refusals(report), testing::Contains("build"));
  report = honest();
  report["device"]["name"] = "NVIDIA " + std::string(300'000, 'X');
  EXPECT_THAT(refusals(report), testing::Not(testing::Contains("unreadable")));
  report = honest();
  row(report)["bytes"]["read"] = std::numeric_limits<std::int64_t>::max();
  EXPECT_THAT(refusals(report), testing::Contains("arithmetic"));
  report = json::parse(text_of(NF4BENCH_SOURCE_DIR "/docs/results/h200/backward-peers.json"));
  for (json& each : report["measurements"]) each["tokens"] = std::int64_t{1} << 62;
  EXPECT_THAT(refusals(report), testing::Contains("arithmetic"));
}

TEST(Check, RefusesSamplesThatTakeLongerThanTheRun) {
  json report = json::parse(text_of(NF4BENCH_SOURCE_DIR "/docs/results/h200/launches.json"));
  EXPECT_THAT(refusals(report), testing::IsEmpty());
  report["finished_at"] = report["started_at"];
  EXPECT_THAT(refusals(report), testing::ElementsAre("duration"));
}

TEST(Check, RefusesOneRunUnderTwoNames) {
  EXPECT_THAT(refusals(honest(), 1), testing::IsEmpty());
  EXPECT_THAT(refusals(honest(), 2), testing::ElementsAre("twice"));
}

TEST(Check, RefusesACeilingThatIsUnlikeThoseOfTheOthers) {
  std::vector<report::NamedReport> reports;
  for (int i = 0; i < 4; ++i) {
    report::NamedReport& each = reports.emplace_back(report::NamedReport{
        fmt::format("{}.json", i), report::report_from_json(honest().dump(), "r")});
    each.report.started_at = fmt::format("2026-11-22T17:15:4{}Z", i);
  }
  const auto codes = [&reports] {
    std::vector<Code> found;
    const std::vector<check::Checked> checked = check::check_reports(reports, kNow);
    for (const check::Finding& each : checked.back().findings) {
      found.push_back(each.code);
    }
    return found;
  };
  double& rate = reports.back().report.ceilings.copy_bytes_per_s;
  const double usual = rate;
  rate = usual * 0.86;
  EXPECT_THAT(codes(), testing::Not(testing::Contains(Code::kUnlikeOthers)));
  rate = usual * 0.84;
  EXPECT_THAT(codes(), testing::Contains(Code::kUnlikeOthers));
}

// What was measured on real cards is plausible, with and without samples.
TEST(Check, TakesEveryReportOfThisProject) {
  std::vector<report::NamedReport> reports;
  const std::filesystem::path results = NF4BENCH_SOURCE_DIR "/docs/results";
  for (const auto& entry : std::filesystem::recursive_directory_iterator(results)) {
    if (entry.path().extension() != ".json") continue;
    const std::string text = text_of(entry.path());
    if (text.find("\"schema\": \"nf4bench.report\"") == std::string::npos) continue;
    const std::string name = entry.path().filename().string();
    reports.push_back({name, report::report_from_json(text, name)});
  }
  EXPECT_GE(reports.size(), 25u);
  for (const check::Checked& each : check::check_reports(reports, kNow)) {
    for (const check::Finding& finding : each.findings) {
      EXPECT_FALSE(check::refuses(finding.code)) << each.name << ": " << to_string(finding.code)
                                                 << ": " << finding.where << ": " << finding.what;
    }
  }
}

}  // namespace
}  // namespace nf4bench
