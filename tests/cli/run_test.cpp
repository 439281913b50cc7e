#include "cli/outcome.hpp"
#include "cpu/stream_memory.hpp"
#include "io/writers/writers.hpp"
#include "nf4/synthetic.hpp"
#include "source_dir.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <fstream>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <unistd.h>
#include <vector>

namespace nf4bench::test {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::IsSupersetOf;
using testing::Not;

// A run on the CPU that is as short as it can be: without ceilings, and hot, because cold buffers
// exceed the last-level cache whatever the shape.
std::vector<std::string> short_run(const std::vector<std::string>& more) {
  std::vector<std::string> arguments = {"run",        "--device", "cpu",           "--no-ceilings",
                                        "--max-time", "0.02",     "--min-samples", "3"};
  if (std::find(more.begin(), more.end(), "--cache") == more.end()) {
    arguments.insert(arguments.end(), {"--cache", "hot"});
  }
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

json report_of(std::vector<std::string> more) {
  return silent_json_of(nf4bench(short_run(more + Words{"--json", "-", "--quiet"})));
}

// A run of one shape, with defaults for all else. Several tests look at this one run.
const json& usual_report() {
  static const json report = report_of({"--shape", "64x64"});
  return report;
}

std::vector<std::string> variants_of(const json& report) {
  std::vector<std::string> names;
  for (const json& row : report.at("measurements")) names.push_back(row.at("variant"));
  return names;
}

// The whole job with its defaults: cold, with ceilings.
TEST(Run, ReportOnStdoutIsTheOnlyThingThereAndFitsTheSchema) {
  const ScratchFolder scratch;
  const Outcome outcome = nf4bench({"run", sample("llama_layer.safetensors"), "--device", "cpu",
                                    "--max-time", "0.02", "--json", "-"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  const json report = json::parse(outcome.out);
  EXPECT_EQ(report.at("schema"), "nf4bench.report");
  EXPECT_EQ(report.at("complete"), true);
  EXPECT_GT(report.at("ceilings").at("copy_bytes_per_s").get<double>(), 0.0);
  const std::string path = scratch.path("report.json");
  std::ofstream(path) << outcome.out;
  // The distribution's Python has jsonschema; another one on PATH may not.
  EXPECT_THAT(shell("PATH=/usr/bin:$PATH python3 '" NF4BENCH_SOURCE_DIR
                    "/scripts/validate_report.py' --strict " +
                    path),
              Ends(0));
}

TEST(Run, EnergyThatNobodyCountsIsUnknown) {
  const Outcome outcome =
      nf4bench({"run", "--shape", "64x64", "--device", "cpu", "--cache", "hot", "--max-time",
                "0.02", "--no-ceilings", "--variant", "simd", "--energy", "--json", "-"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  const json report = json::parse(outcome.out);
  const json& energy = report.at("measurements").at(0).at("energy");
  EXPECT_TRUE(energy.at("joules").is_null());
  EXPECT_THAT(energy.at("unavailable"), HasSubstr("no energy counter"));
  EXPECT_TRUE(report.at("device").at("idle_power_w").is_null());
  EXPECT_THAT(outcome.err, HasSubstr("unknown"));  // the table
}

// Cold, whatever the machine's caches are: a short run of a tiny tensor takes little of anything.
TEST(Run, OfATinyTensorTakesLittleMemoryAndTime) {
  const Outcome outcome = nf4bench({"run", "--device", "cpu", "--shape", "64x64", "--max-time",
                                    "0.01", "--no-ceilings", "--quiet"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  if (kernels::cpu::can_evict()) {
    EXPECT_LT(outcome.peak_bytes, std::int64_t{128} << 20);
  }
  EXPECT_LT(outcome.cpu_seconds, 5.0);
}

TEST(Run, TableGoesToStderrWhenStdoutHoldsTheReport) {
  const Outcome outcome = nf4bench(short_run({"--shape", "64x64", "--json", "-"}));
  EXPECT_TRUE(json::accept(outcome.out));
  EXPECT_THAT(outcome.err, HasSubstr("multi_pass"));
}

TEST(Run, TableIsOnStdoutAndStderrIsSilentWithoutATerminal) {
  const Outcome outcome = nf4bench(short_run({"--shape", "64x64"}));
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("multi_pass"), HasSubstr("simd")));
  EXPECT_THAT(outcome.out, Not(HasSubstr("\x1b[")));
  EXPECT_THAT(outcome.err, IsEmpty());
}

TEST(Run, QuietPrintsNothing) {
  const Outcome outcome = nf4bench(short_run({"--shape", "64x64", "--quiet"}));
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_THAT(outcome.out + outcome.err, IsEmpty());
}

TEST(Run, MeasuresEveryVariantOfTheDeviceByDefault) {
  const json& report = usual_report();
  EXPECT_THAT(variants_of(report), ElementsAre("reference", "multi_pass", "lut", "simd"));
  for (const json& row : report.at("measurements")) {
    EXPECT_EQ(row.at("status"), "passed");
    EXPECT_EQ(row.at("verification").at("compared"), 64 * 64);
    EXPECT_EQ(row.at("verification").at("mismatches"), 0);
    EXPECT_GT(row.at("time_s").at("median").get<double>(), 0.0);
    EXPECT_EQ(row.at("bytes").at("written"), 64 * 64 * 2);
  }
}

TEST(Run, WildcardSelectionKeepsTheBaselineBesideIt) {
  const json report = report_of({"--shape", "64x64", "--variant", "si*"});
  EXPECT_THAT(variants_of(report), ElementsAre("multi_pass", "simd"));
  const json& speedup = report.at("measurements").at(1).at("speedup");
  EXPECT_EQ(speedup.at("baseline"), "multi_pass");
  EXPECT_GT(speedup.at("ratio").get<double>(), 0.0);
  EXPECT_EQ(report.at("measurements").at(0).at("speedup").at("ratio"), 1.0);
}

TEST(Run, ReportSaysHowEachVariantWorks) {
  const json& variants = usual_report().at("variants");
  std::vector<std::string> names;
  for (const json& variant : variants) {
    names.push_back(variant.at("name"));
    EXPECT_THAT(variant.at("summary").get<std::string>(), Not(IsEmpty()));
    EXPECT_EQ(variant.at("inline_ptx"), false);
  }
  EXPECT_EQ(names, variants_of(usual_report()));
  EXPECT_GT(variants.at(1).at("launches"), 1);  // multi_pass
  EXPECT_EQ(variants.at(3).at("launches"), 1);
}

TEST(Run, WithoutCeilingsKnowsNoFractionOfCopy) {
  const json& report = usual_report();
  EXPECT_TRUE(report.at("ceilings").at("copy_bytes_per_s").is_null());
  EXPECT_TRUE(report.at("measurements").at(0).at("fraction_of_copy").is_null());
}

TEST(Run, BaselineNoneMeasuresTheSelectionAloneWithoutSpeedups) {
  const json report = report_of({"--shape", "64x64", "--variant", "simd", "--baseline", "none"});
  EXPECT_THAT(variants_of(report), ElementsAre("simd"));
  EXPECT_TRUE(report.at("measurements").at(0).at("speedup").is_null());
}

TEST(Run, OneVariantListedTwiceRunsAgainstItself) {
  const json report = report_of({"--shape", "64x64", "--variant", "lut,lut", "--baseline", "lut"});
  EXPECT_THAT(variants_of(report), ElementsAre("lut", "lut#2"));
  EXPECT_EQ(report.at("variants").at(1).at("name"), "lut#2");
}

TEST(Run, ListsMultiplyIntoCells) {
  const json report = report_of({"--shape", "64x64", "--variant", "simd", "--baseline", "simd",
                                 "--dtype", "float16,float32", "--cache", "cold,hot"});
  std::set<std::pair<std::string, std::string>> cells;
  for (const json& row : report.at("measurements")) {
    cells.emplace(row.at("output_dtype"), row.at("cache"));
  }
  EXPECT_EQ(cells.size(), 4u);
  EXPECT_EQ(report.at("measurements").size(), 4u);
}

TEST(Run, TimesOneTensorOfEachGeometryAndCountsTheOthers) {
  const ScratchFolder scratch;
  const std::string file = scratch.path("a.safetensors");
  nf4bench({"synth", "-o", file, "--shape", "a=64x64", "--shape", "b=32x64", "--shape", "c=64x64"});
  const json grouped = report_of({file, "--variant", "simd", "--baseline", "none"});
  ASSERT_EQ(grouped.at("tensors").size(), 2u);
  EXPECT_EQ(grouped.at("tensors").at(0).at("multiplicity"), 2);
  EXPECT_EQ(grouped.at("summary").at("tensors_verified"), 3);
  const json all = report_of({file, "--variant", "simd", "--baseline", "none", "--all-tensors"});
  EXPECT_EQ(all.at("tensors").size(), 3u);
}

TEST(Run, TakesShapesPresetsAndFilesTogether) {
  const json report = report_of({"--shape", "32x64", "--shape", "64x64", "--variant", "simd",
                                 sample("llama_layer.safetensors"), "--tensor", "64|q_proj"});
  std::vector<std::string> names;
  for (const json& tensor : report.at("tensors")) names.push_back(tensor.at("name"));
  EXPECT_THAT(names, ElementsAre("model.layers.0.self_attn.q_proj.weight", "32x64", "64x64"));
}

TEST(Run, SyntheticTensorsAreNestedOfBlocksize64UnlessToldOtherwise) {
  const json& usual = usual_report().at("tensors").at(0);
  EXPECT_EQ(usual.at("blocksize"), 64);
  EXPECT_EQ(usual.at("nested"), true);
  const json told = report_of({"--shape", "64x64", "--plain", "--blocksize", "256"});
  EXPECT_EQ(told.at("tensors").at(0).at("blocksize"), 256);
  EXPECT_EQ(told.at("tensors").at(0).at("nested"), false);
}

TEST(Run, SeedDecidesTheDataOfSyntheticTensors) {
  const auto hash = [](const std::string& seed) {
    return report_of({"--shape", "64x64", "--variant", "simd", "--seed", seed})
        .at("tensors")
        .at(0)
        .at("sha256")
        .get<std::string>();
  };
  EXPECT_EQ(hash("1"), hash("1"));
  EXPECT_NE(hash("1"), hash("2"));
}

// Of the tensors of a run, in their order.
std::vector<std::string> hashes_of(std::vector<std::string> arguments) {
  const json report = report_of(arguments + Words{"--variant", "simd", "--all-tensors"});
  std::vector<std::string> hashes;
  for (const json& tensor : report.at("tensors")) hashes.push_back(tensor.at("sha256"));
  return hashes;
}

TEST(Run, DataOfAShapeDoesNotDependOnWhatElseIsMeasured) {
  const std::vector<std::string> alone = hashes_of({"--shape", "64x64"});
  const auto first = hashes_of({"--shape", "64x64", "--shape", "96x64", "--shape", "64x96"});
  auto last = hashes_of({"--shape", "64x96", "--shape", "96x64", "--shape", "64x64"});
  ASSERT_EQ(alone.size(), 1u);
  EXPECT_EQ(first.front(), alone.front());
  std::reverse(last.begin(), last.end());
  EXPECT_EQ(last, first);
  EXPECT_EQ(hashes_of({"--shape", "96x64", "--shape", "64x64", "--tensor", "^64"}), alone);
}

TEST(Run, TensorsOfOneShapeDiffer) {
  const std::vector<std::string> twice =
      hashes_of({"--shape", "64x64", "--shape", "96x64", "--shape", "64x64"});
  ASSERT_EQ(twice.size(), 3u);
  EXPECT_EQ(twice.front(), hashes_of({"--shape", "64x64"}).front());
  EXPECT_NE(twice.front(), twice.back());
}

TEST(Run, DataOfAShapeIsWhatSynthWrites) {
  const ScratchFolder scratch;
  const std::string file = scratch.path("w.safetensors");
  ASSERT_EQ(nf4bench({"synth", "-o", file, "--distribution", "codes", "--shape", "64x64", "--shape",
                      "96x64", "--shape", "64x64"})
                .exit_code,
            0);
  EXPECT_EQ(hashes_of({file}),
            hashes_of({"--shape", "64x64", "--shape", "96x64", "--shape", "64x64"}));
}

TEST(Run, HashOfATensorIsThatOfItsBytesAsStored) {
  const ScratchFolder scratch;
  nf4bench({"synth", "-o", scratch.path("d/"), "--shape", "w=64x64", "--plain"});
  // An .npy file of version 1.0 has 10 bytes before its header, whose length is in bytes 8 and 9.
  const Outcome independent =
      shell("cd '" + scratch.path("d") +
            "' && for f in w.npy w.absmax.npy; do n=$(od -An -tu2 -j8 -N2 $f); "
            "tail -c +$((n + 11)) $f; done | sha256sum | cut -c -64 | tr -d '\\n'");
  const json report = report_of({scratch.path("d"), "--variant", "simd"});
  EXPECT_EQ(report.at("tensors").at(0).at("sha256"), independent.out);
}

TEST(Run, MeasuresTheTensorsOfANumpyArchive) {
  const json archive =
      report_of({sample("npz/savez_compressed.npz"), "--variant", "simd", "--all-tensors"});
  const json file = report_of({sample("odd_shapes.safetensors"), "--variant", "simd",
                               "--all-tensors", "--tensor", "^(s5x77|s2x3x64)[.]"});
  std::map<std::string, std::string> hashes[2];
  for (const json& tensor : archive.at("tensors")) hashes[0][tensor["name"]] = tensor["sha256"];
  for (const json& tensor : file.at("tensors")) hashes[1][tensor["name"]] = tensor["sha256"];
  EXPECT_EQ(hashes[0].size(), 2u);
  EXPECT_EQ(hashes[0], hashes[1]);
}

TEST(Run, ReportSaysWhatMadeItAndWhere) {
  const json& report = usual_report();
  EXPECT_THAT(report.at("command").at(1), "run");
  EXPECT_EQ(report.at("tool").at("name"), "nf4bench");
  EXPECT_FALSE(report.at("host").at("kernel").get<std::string>().empty());
  EXPECT_GT(report.at("host").at("memory_bytes").get<std::int64_t>(), 0);
  EXPECT_EQ(report.at("device").at("id"), "cpu");
  EXPECT_EQ(report.at("started_at").get<std::string>().back(), 'Z');
  EXPECT_GE(report.at("finished_at").get<std::string>(),
            report.at("started_at").get<std::string>());
}

TEST(Run, ReplayedLaunchesDoNotExistOnTheCpu) {
  for (const std::string mode : {"graph", "spaced"}) {
    EXPECT_THAT(nf4bench(short_run({"--shape", "64x64", "--launch", mode})),
                Ends(2, HasSubstr("--launch: \"" + mode + "\" does not exist on cpu")));
  }
}

TEST(Run, ReportSaysHowFarColdBuffersRotate) {
  EXPECT_EQ(usual_report().at("settings").at("caches_rotated"), 5);
  const json report = report_of({"--shape", "64x64", "--variant", "simd", "--rotate", "2"});
  EXPECT_EQ(report.at("settings").at("caches_rotated"), 2);
  EXPECT_EQ(nf4bench(short_run({"--shape", "64x64", "--rotate", "0"})).exit_code, 2);
}

TEST(Run, AReportWithoutSamplesServesEveryReader) {
  const ScratchFolder folder;
  const std::string all = folder.path("all.json");
  const std::string summary = folder.path("summary.json");
  for (const auto& [path, keep] : {std::pair(all, "all"), std::pair(summary, "summary")}) {
    EXPECT_THAT(
        nf4bench(
            {"run",        "--device", "cpu",           "--shape", "64x64", "--variant",     "simd",
             "--baseline", "none",     "--no-ceilings", "--cache", "hot",   "--min-samples", "40",
             "--max-time", "0.5",      "--quiet",       "--json",  path,    "--samples",     keep}),
        Ends(0));
  }
  const json row = json::parse(read_file(summary))["measurements"][0];
  EXPECT_TRUE(row["samples_s"].empty());
  EXPECT_GE(row["sample_digest"]["count"], 40);
  EXPECT_GT(row["time_s"]["median"], 0.0);
  EXPECT_FALSE(json::parse(read_file(all))["measurements"][0].contains("sample_digest"));

  const Outcome compared = nf4bench({"compare", all, summary, "--noise", "90%", "--json"});
  ASSERT_EQ(compared.exit_code, 0) << compared.err;
  EXPECT_EQ(json::parse(compared.out)["counts"]["measured"], 1) << compared.out;
  const Outcome history = nf4bench({"history", all, summary});
  EXPECT_THAT(history.out, HasSubstr("simd")) << history.err;
  for (const char* format : {"csv", "markdown", "google-benchmark", "nvbench", "bencher",
                             "openmetrics", "html", "github-action", "reframe"}) {
    EXPECT_THAT(nf4bench({"export", summary, "--to", format}),
                AllOf(Ends(0), Prints(HasSubstr("simd"))))
        << format;
  }
}

TEST(Run, AnAnonymousReportNamesNoMachineAndIsPlausible) {
  const ScratchFolder folder;
  const std::string report = folder.path("report.json");
  ASSERT_THAT(nf4bench(short_run({sample("odd_shapes.safetensors"), "--peer",
                                  "gone=" + folder.path("libgone.so"), "--variant", "simd,gone",
                                  "--peer-optional", "--anonymous", "--json", report})),
              Ends(0));
  const std::string text = read_file(report);
  std::array<char, 256> host = {};
  gethostname(host.data(), host.size() - 1);
  EXPECT_THAT(text, Not(HasSubstr(host.data())));
  EXPECT_THAT(text, Not(HasSubstr(folder.path(""))));
  EXPECT_THAT(text, Not(HasSubstr(NF4BENCH_SOURCE_DIR)));
  EXPECT_THAT(text, AllOf(HasSubstr("gone=libgone.so"), HasSubstr("\"odd_shapes.safetensors\"")));
  json lie = json::parse(text);
  lie.at("tool").at("build_type") = "Release";  // others are refused, and tests run in them, too
  write_file(report, lie.dump(2));
  EXPECT_THAT(nf4bench({"check", report, "--json"}), Ends(0));

  lie["finished_at"] = "2020-01-01T00:00:00Z";
  write_file(report, lie.dump(2));
  const Outcome refused = nf4bench({"check", report});
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_THAT(refused.out, AllOf(HasSubstr("refused"), HasSubstr("dates")));
  write_file(report, text.substr(0, text.size() / 2));
  EXPECT_EQ(nf4bench({"check", folder.path("")}).exit_code, 1);
  EXPECT_EQ(nf4bench({"check", folder.path("absent")}).exit_code, 3);
}

TEST(Run, DeviceThatIsNotThereEndsWithExitCodeFive) {
  const Outcome outcome = nf4bench({"run", "--shape", "64x64", "--device", "cuda:99"});
  EXPECT_EQ(outcome.exit_code, 5);
  EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
  if (outcome.err.find("without CUDA") != std::string::npos) {
    EXPECT_THAT(outcome.err, HasSubstr("install the CUDA Toolkit 12.5 or later"));
  }
}

TEST(Run, InputWithoutNf4TensorsSaysWhatItHolds) {
  EXPECT_THAT(nf4bench(short_run({sample("fp4.safetensors")})),
              Ends(3, AllOf(HasSubstr("fp4.safetensors"), HasSubstr("FP4"))));
}

TEST(Run, TensorFilterThatMatchesNothingIsAUsageError) {
  EXPECT_THAT(nf4bench(short_run({sample("llama_layer.safetensors"), "--tensor", "lm_head"})),
              Ends(2, HasSubstr("lm_head")));
}

// An NF4 weight beside one of LLM.int8, one of GPTQ and one that is not quantized.
std::string write_mixed_model(const ScratchFolder& scratch) {
  const nf4::Nf4Tensor tensor = nf4::make_synthetic({.name = "q_proj.weight", .shape = {64}});
  std::vector<io::OutputTensor> entries = io::state_dict_entries(tensor);
  const auto add = [&](const std::string& name, const std::string& dtype) {
    entries.push_back({name, dtype, {0}, 0, [](const io::ByteSink&) {}});
  };
  add("k_proj.weight", "I8");
  add("k_proj.SCB", "F32");
  for (const char* name : {"v_proj.qweight", "v_proj.qzeros", "v_proj.g_idx"}) add(name, "I32");
  add("v_proj.scales", "F16");
  add("norm.weight", "BF16");
  const std::string path = scratch.path("mixed.safetensors");
  io::write_safetensors(path, entries);
  return path;
}

TEST(Run, TensorFilterThatMatchesOtherKindsAloneSaysWhichTheyAre) {
  const ScratchFolder scratch;
  const std::string path = write_mixed_model(scratch);
  for (const auto& [regex, found] : std::map<std::string, std::string>{
           {"norm", R"(only 1 bfloat16 (for example "norm.weight"))"},
           {"k_proj", R"(only 1 LLM.int8 (for example "k_proj.weight"))"},
           {"v_proj|norm", R"(only 1 GPTQ (for example "v_proj.qweight"), 1 bfloat16 (for)"}}) {
    EXPECT_THAT(nf4bench(short_run({path, "--tensor", regex})),
                Ends(2, HasSubstr("matches no NF4 tensor of the input, " + found)));
    EXPECT_THAT(nf4bench({"dequantize", path, "--tensor", regex, "--device", "cpu", "-o",
                          scratch.path("out.safetensors")}),
                Ends(2, HasSubstr(found)));
  }
}

// 200 elements in blocks of 64. The last block is cut short, and its scale is NaN.
std::string write_tensor_with_a_nan(const ScratchFolder& scratch) {
  nf4::Nf4Tensor tensor =
      nf4::make_synthetic({.name = "odd", .shape = {200}, .absmax_kind = nf4::AbsmaxKind::kPlain});
  tensor.absmax.back() = std::numeric_limits<float>::quiet_NaN();
  const std::string path = scratch.path("odd.safetensors");
  io::write_nf4_safetensors(path, std::vector{tensor});
  return path;
}

TEST(Run, WarnsOfOutputsThatAreNotFinite) {
  const ScratchFolder scratch;
  const std::string path = write_tensor_with_a_nan(scratch);
  const json report = report_of({path, "--dtype", "float16,float32"});
  const std::string found = "1 of 4 scales are infinite or NaN, and so are 8 of 200 outputs in ";
  // On a busy machine there is one more.
  EXPECT_THAT(report.at("warnings").get<std::vector<std::string>>(),
              IsSupersetOf({"odd: " + found + "float16", "odd: " + found + "float32"}));
  EXPECT_EQ(report.at("measurements")[0].at("status"), "passed");
  EXPECT_THAT(nf4bench(short_run({path})).out, HasSubstr("warning: odd: " + found + "bfloat16"));
}

}  // namespace
}  // namespace nf4bench::test
