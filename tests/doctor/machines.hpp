#pragma once

// Facts about machines that are fit, written by hand. Tests change them in one place.

#include "doctor/checks/checks.hpp"
#include "doctor/facts.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace nf4bench::test {

// A variant that repeats within about 0.1 %.
inline doctor::AaRun quiet_aa(const std::string& variant, double clock_hz) {
  doctor::AaRun aa;
  aa.variant = variant;
  aa.shape = {4096, 4096};
  aa.runs = {{1.000e-5, 1.001e-5},
             {1.002e-5, 1.000e-5},
             {0.999e-5, 1.000e-5},
             {1.001e-5, 1.001e-5},
             {1.000e-5, 0.999e-5}};
  if (clock_hz > 0.0) aa.sm_clock_hz.assign(100, clock_hz);
  return aa;
}

// An H200 whose clocks are locked, as its driver shows it.
inline doctor::DoctorFacts sound_gpu() {
  doctor::DoctorFacts facts;
  facts.device.kind = record::DeviceKind::kCuda;
  facts.device.id = "cuda:0";
  facts.device.name = "NVIDIA H200";
  facts.device.compute_capability = 90;
  facts.device.uuid = "GPU-9e6fd0ab-ed31-06ff-7403-b9c455166567";
  facts.device.pci_id = "0000:3b:00.0";
  facts.device.driver = "580.159.04";
  facts.device.runtime = "13.0";
  facts.aa = quiet_aa("fused", 1.71e9);
  facts.architectures = "75-real,80-real,86-real,89-real,90-real,100-real,120";
  facts.driver = {.version = "580.159.04", .cuda_version = 13000, .gpus = 1};
  facts.counters = {.for_admins_alone = false};
  doctor::GpuConditions gpu;
  gpu.before = {.problem = "",
                .max_sm_clock_hz = 1.98e9,
                .power_limit_w = 700.0,
                .default_power_limit_w = 700.0,
                .persistence = true,
                .ecc = device::GpuSetting::kOn,
                .ecc_after_reset = device::GpuSetting::kOn,
                .uncorrected_errors = 0,
                .remapping_pending = false,
                .remapping_failed = false,
                .remapped_rows = 0,
                .mig = device::GpuSetting::kOff,
                .pcie = {.width = 16, .card_width = 16, .card_generation = 5, .most_generation = 5},
                .nvlinks = device::NvLinks{.present = 18, .active = 18},
                .processes =
                    std::vector<device::GpuProcess>{
                        {.pid = 4711, .name = "nf4bench", .memory_bytes = 1 << 29}},
                .slowed_by_power_s = 10.0,
                .slowed_by_heat_s = 0.0};
  gpu.after = gpu.before;
  const device::GpuReading reading = {.sm_clock_hz = 1.71e9,
                                      .memory_clock_hz = 3.201e9,
                                      .temperature_c = 41.0,
                                      .pcie_generation = 5,
                                      .busy = 0.0,
                                      .throttle_reasons = std::vector<std::string>()};
  gpu.at_rest.assign(3, reading);
  gpu.at_work.assign(20, reading);
  gpu.worked_s = 4.0;
  gpu.own_pid = 4711;
  facts.gpu = gpu;
  return facts;
}

// A server with nothing else to do, its clocks held, at 100 ticks a second and processor.
inline doctor::DoctorFacts sound_cpu() {
  doctor::DoctorFacts facts;
  facts.device.kind = record::DeviceKind::kCpu;
  facts.device.id = "cpu";
  facts.device.name = "AMD EPYC 9654";
  facts.device.multiprocessors = 16;
  facts.aa = quiet_aa("simd", 0.0);
  doctor::CpuConditions cpu;
  cpu.threads = 16;
  cpu.setup = {.processors = 16,
               .governors = {{"performance", 16}},
               .scaling_driver = "acpi-cpufreq",
               .max_clock_hz = 2.4e9,
               .boost = false,
               .boost_is_intel = false,
               .smt = false,
               .cores = 16,
               .load = 0.05,
               .limit = std::nullopt,
               .limit_is_known = true,
               .virtual_machine = false};
  cpu.rest_start = {.clock_hz = 2.4e9,
                    .times = device::ProcessorTimes{.busy = 1000, .stolen = 0, .total = 100000},
                    .paused_s = 0.0};
  cpu.rest_end = cpu.rest_start;
  cpu.rest_end.times = device::ProcessorTimes{.busy = 1016, .stolen = 0, .total = 101600};
  for (int i = 0; i < 10; ++i) {
    doctor::CpuReading reading = cpu.rest_end;
    reading.times->busy += 1500.0 * i;
    reading.times->total += 1600.0 * i;
    cpu.at_work.push_back(reading);
  }
  facts.cpu = cpu;
  return facts;
}

inline void expect_finding(const doctor::Finding& finding, doctor::Severity severity,
                           const testing::Matcher<std::string>& found = testing::_,
                           const testing::Matcher<std::string>& remedy = testing::_) {
  EXPECT_STREQ(to_string(finding.severity), to_string(severity)) << finding.found;
  EXPECT_THAT(finding.found, found);
  EXPECT_THAT(finding.remedy, remedy);
}

}  // namespace nf4bench::test
