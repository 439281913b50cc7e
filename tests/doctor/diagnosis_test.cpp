// What all checks together mean, and how it is shown.

#include "doctor/diagnosis.hpp"

#include "doctor/machines.hpp"
#include "report/golden_file.hpp"
#include "scratch.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace nf4bench {
namespace {

using test::sound_cpu;
using test::sound_gpu;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

std::vector<std::string> checks_of(const doctor::Diagnosis& diagnosis) {
  std::vector<std::string> checks;
  for (const doctor::Finding& finding : diagnosis.findings) checks.push_back(finding.check);
  return checks;
}

// A GPU with something wrong of every severity.
doctor::DoctorFacts ailing_gpu() {
  doctor::DoctorFacts facts = sound_gpu();
  facts.gpu->before.persistence = false;
  facts.gpu->before.processes->push_back(
      {.pid = 99, .name = "/usr/bin/python3", .memory_bytes = 41ll << 30});
  for (device::GpuReading& reading : facts.gpu->at_rest) reading.busy = 0.62;
  facts.gpu->before.mig = device::GpuSetting::kUnknown;
  return facts;
}

// A laptop that is busy with other work, in a container that cannot use its GPU.
doctor::DoctorFacts ailing_cpu() {
  doctor::DoctorFacts facts = sound_cpu();
  facts.aa.failure = "failed: 1 of 4194304 elements differ";
  facts.aa.runs.clear();
  facts.cpu->setup.governors = {{"powersave", 16}};
  facts.cpu->setup.boost = true;
  facts.cpu->setup.limit = 4.0;
  facts.cuda_problem = "this nf4bench was built without CUDA";
  facts.driver = {.version = "580.159.04", .cuda_version = 13000, .gpus = 1};
  return facts;
}

// With round numbers for the noise: the last digits of logarithms differ between libraries.
std::string golden_json(const doctor::DoctorFacts& facts) {
  doctor::Diagnosis diagnosis = doctor::diagnose(facts);
  if (diagnosis.noise) {
    diagnosis.noise = {.relative = 0.001,
                       .assumed = 0.005,
                       .threshold = 0.02,
                       .false_alarms = 0.0,
                       .side_change = -0.0002,
                       .sides_differ = false};
  }
  return doctor::diagnosis_json(diagnosis);
}

TEST(Diagnosis, OfASoundGpuIsFit) {
  const doctor::Diagnosis diagnosis = doctor::diagnose(sound_gpu());
  EXPECT_EQ(diagnosis.worst, doctor::Severity::kOk);
  EXPECT_EQ(doctor::verdict_line(diagnosis),
            "fit: nothing here speaks against a gate run on cuda:0");
}

TEST(Diagnosis, OfASoundCpuIsFit) {
  EXPECT_EQ(doctor::verdict_word(doctor::diagnose(sound_cpu()).worst), std::string("fit"));
}

TEST(Diagnosis, LooksAtEverySubjectOnce) {
  const auto expected = [](std::vector<std::string> checks) {
    std::ranges::sort(checks);
    return checks;
  };
  EXPECT_EQ(expected(checks_of(doctor::diagnose(sound_gpu()))),
            expected({"noise", "clocks", "throttling", "processes", "power_cap", "persistence",
                      "ecc", "mig", "pcie", "nvlink", "driver", "architectures", "counters"}));
  EXPECT_EQ(expected(checks_of(doctor::diagnose(ailing_cpu()))),
            expected({"noise", "load", "stolen_time", "cpu_limit", "clocks", "governor", "boost",
                      "smt", "virtual_machine", "cuda"}));
}

TEST(Diagnosis, PutsTheWorstFirst) {
  const doctor::Diagnosis diagnosis = doctor::diagnose(ailing_gpu());
  EXPECT_EQ(diagnosis.findings.front().check, "processes");
  EXPECT_TRUE(std::ranges::is_sorted(
      diagnosis.findings,
      [](const doctor::Finding& a, const doctor::Finding& b) { return a.severity > b.severity; }));
  EXPECT_EQ(doctor::verdict_line(diagnosis),
            "worthless: a gate run on cuda:0 would decide nothing (processes)");
}

TEST(Diagnosis, WithAWarningIsDoubtful) {
  doctor::DoctorFacts facts = sound_gpu();
  facts.gpu->before.persistence = false;
  EXPECT_EQ(doctor::verdict_line(doctor::diagnose(facts)),
            "doubtful: a gate run on cuda:0 may be off (persistence)");
}

TEST(Diagnosis, WithNotesIsFit) {
  doctor::DoctorFacts facts = sound_gpu();
  facts.gpu->before.mig = device::GpuSetting::kUnknown;
  EXPECT_STREQ(doctor::verdict_word(doctor::diagnose(facts).worst), "fit");
}

TEST(Diagnosis, WithoutTheDriversLibrarySaysSoOnce) {
  doctor::DoctorFacts facts = sound_gpu();
  facts.gpu = doctor::GpuConditions{};
  facts.gpu->before.problem = "libnvidia-ml.so.1 cannot be loaded";
  const doctor::Diagnosis diagnosis = doctor::diagnose(facts);
  EXPECT_EQ(diagnosis.worst, doctor::Severity::kWarning);
  EXPECT_EQ(diagnosis.findings.front().check, "management");
  EXPECT_THAT(checks_of(diagnosis), Not(testing::Contains("persistence")));
}

TEST(Diagnosis, GivesAReasonForEverythingAndARemedyForWhatIsBad) {
  for (const doctor::DoctorFacts& facts : {ailing_gpu(), ailing_cpu(), sound_gpu(), sound_cpu()}) {
    for (const doctor::Finding& finding : doctor::diagnose(facts).findings) {
      EXPECT_FALSE(finding.found.empty()) << finding.check;
      EXPECT_FALSE(finding.why.empty()) << finding.check;
      if (finding.severity >= doctor::Severity::kWarning) {
        EXPECT_FALSE(finding.remedy.empty()) << finding.check;
      }
      if (finding.severity == doctor::Severity::kOk) {
        EXPECT_EQ(finding.remedy, "") << finding.check;
      }
    }
  }
}

TEST(DiagnosisTable, ListsFindingsAndEndsWithTheVerdict) {
  const std::vector<std::string> lines = test::lines_of(
      doctor::diagnosis_table(doctor::diagnose(ailing_gpu()), {.width = 100, .colour = false}));
  EXPECT_EQ(lines.front(), "cuda:0: NVIDIA H200, driver 580.159.04, CUDA runtime 13.0");
  EXPECT_THAT(lines.at(2), StartsWith("severity   check"));
  EXPECT_THAT(lines.at(3), StartsWith("worthless  processes      1 other on this GPU: python3"));
  EXPECT_EQ(lines.back(),
            "verdict: worthless: a gate run on cuda:0 would decide nothing (processes)");
}

TEST(DiagnosisTable, FitsTheTerminalButForRemedies) {
  for (const int width : {60, 80, 120}) {
    const std::string table =
        doctor::diagnosis_table(doctor::diagnose(ailing_gpu()), {.width = width, .colour = false});
    for (const std::string& line : test::lines_of(table)) {
      if (line.find("fix: ") != std::string::npos || line.starts_with("verdict")) continue;
      EXPECT_LE(line.size(), static_cast<std::size_t>(width)) << line;
    }
  }
}

TEST(DiagnosisTable, KeepsRemediesOnOneLine) {
  const std::string table =
      doctor::diagnosis_table(doctor::diagnose(ailing_gpu()), {.width = 60, .colour = false});
  EXPECT_THAT(table, HasSubstr("fix: nvidia-smi -i 0000:3b:00.0 "
                               "--query-compute-apps=pid,process_name,used_memory --format=csv\n"));
}

TEST(DiagnosisTable, ExplainsWhatIsBadAndNothingElse) {
  const std::string table =
      doctor::diagnosis_table(doctor::diagnose(sound_gpu()), {.width = 100, .colour = false});
  EXPECT_THAT(table, Not(HasSubstr("why:")));
  EXPECT_THAT(
      doctor::diagnosis_table(doctor::diagnose(ailing_gpu()), {.width = 100, .colour = false}),
      HasSubstr("why:"));
}

TEST(DiagnosisTable, IsColouredOnlyOnRequest) {
  EXPECT_THAT(
      doctor::diagnosis_table(doctor::diagnose(ailing_gpu()), {.width = 100, .colour = false}),
      Not(HasSubstr("\x1b")));
  EXPECT_THAT(
      doctor::diagnosis_table(doctor::diagnose(ailing_gpu()), {.width = 100, .colour = true}),
      HasSubstr("\x1b[1;31m"));
}

TEST(DiagnosisJson, IsGoldenForASoundGpu) {
  expect_golden("../../doctor/golden/sound_gpu.json", golden_json(sound_gpu()));
}

TEST(DiagnosisJson, IsGoldenForAnAilingGpu) {
  expect_golden("../../doctor/golden/ailing_gpu.json", golden_json(ailing_gpu()));
}

TEST(DiagnosisJson, IsGoldenForAnAilingCpu) {
  expect_golden("../../doctor/golden/ailing_cpu.json", golden_json(ailing_cpu()));
}

}  // namespace
}  // namespace nf4bench
