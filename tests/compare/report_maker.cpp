#include "compare/report_maker.hpp"

#include "statistics/statistics.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstddef>
#include <numbers>

namespace nf4bench::test {
namespace {

constexpr double kClock_hz = 1.98e9;

record::ReportTensor tensor_of(std::size_t number, std::int64_t rows) {
  record::ReportTensor tensor;
  tensor.id = fmt::format("t{}", number);
  tensor.name = fmt::format("layer.{}", number);
  tensor.source = "synthetic";
  tensor.geometry.shape = {rows, 4096};
  tensor.geometry.blocksize = 64;
  tensor.sha256 = std::string(64, 'a');
  return tensor;
}

std::string time_text(int minute) {
  return fmt::format("2026-03-{:02}T{:02}:{:02}:00Z", 1 + minute / 1440 % 28, minute / 60 % 24,
                     minute % 60);
}

void describe_machine(record::Report& report) {
  report.host = {"node7", "Debian GNU/Linux 12 (bookworm)", "6.1.0", "Xeon", 112, 1};
  report.device.kind = record::DeviceKind::kCuda;
  report.device.id = "cuda:0";
  report.device.name = "NVIDIA H200";
  report.device.compute_capability = 90;
  report.device.multiprocessors = 132;
  report.device.l2_bytes = 62914560;
  report.device.uuid = "GPU-6f1c3c52-8b7f-5d2c-9f57-2f4c7b1f7a10";
  report.device.driver = "580.159.04";
  report.device.runtime = "13.0";
  report.device.ecc = true;
  report.device.mig = false;
  report.state_before.max_sm_clock_hz = kClock_hz;
  report.state_before.memory_clock_hz = 3.201e9;
  report.state_before.power_limit_w = 700.0;
  report.state_after = report.state_before;
}

}  // namespace

record::Report gpu_run(int minute) {
  record::Report report;
  report.complete = true;
  report.tool = {"0.1.0", "4f0c2d9e8b7a61c5", false, "Release", "GNU 12.2.0", "90"};
  report.command = {"nf4bench", "run"};
  report.started_at = time_text(minute);
  report.finished_at = time_text(minute + 1);
  report.settings.baseline = "multi_kernel";
  describe_machine(report);
  report.tensors = {tensor_of(0, 4096)};
  return report;
}

record::Measurement passed_row(const std::string& variant, double median_s, double baseline_s) {
  record::Measurement m;
  m.cell.operation = "dequantize";
  m.cell.tensor = "t0";
  m.variant = variant;
  m.cell.device = "cuda:0";
  m.cell.output_type = nf4::OutputType::kBfloat16;
  m.status = record::Status::kPassed;
  m.launches_per_sample = 10;
  // Multiples of 17 modulo 41 visit every step of the range once, in no order.
  for (int i = 0; i < 41; ++i) {
    m.samples_s.push_back(median_s * (1.0 + (i * 17 % 41 - 20) * 5e-5));
  }
  m.sm_clock_hz.assign(41, kClock_hz);
  m.time_s = statistics::summarize(m.samples_s);
  const double ratio = baseline_s / median_s;
  m.speedup = record::Speedup{"multi_kernel", ratio, {{ratio * 0.999, ratio * 1.001}}};
  m.fraction_of_copy = 20e-6 / median_s;
  return m;
}

report::NamedReport named_run(const std::string& name, int minute,
                              const std::vector<Timing>& timings) {
  report::NamedReport run = {name, gpu_run(minute)};
  for (const Timing& timing : timings) {
    run.report.measurements.push_back(passed_row(timing.variant, timing.median_s));
  }
  return run;
}

double RunSimulator::uniform() {
  return (static_cast<double>(random_() >> 11) + 0.5) * 0x1p-53;
}

double RunSimulator::normal() {
  const double radius = std::sqrt(-2.0 * std::log(uniform()));
  return radius * std::cos(2.0 * std::numbers::pi * uniform());
}

record::Measurement RunSimulator::draw_cell(double median_s, double run_offset) {
  const double center = median_s * std::exp(run_offset + model_.cell_offset * normal());
  const double drift = model_.drift * normal();
  record::Measurement m;
  m.cell.operation = "dequantize";
  m.variant = "fused";
  m.cell.device = "cuda:0";
  m.cell.output_type = nf4::OutputType::kBfloat16;
  m.status = record::Status::kPassed;
  m.launches_per_sample = 10;
  for (int i = 0; i < model_.samples; ++i) {
    const double slowdown = drift * i / model_.samples;
    const bool is_outlier = uniform() < model_.outlier_share;
    m.samples_s.push_back(center * std::exp(slowdown + model_.jitter * normal()) *
                          (is_outlier ? 1.1 + 0.9 * uniform() : 1.0));
    m.sm_clock_hz.push_back(kClock_hz * std::exp(0.001 * normal() - slowdown));
  }
  m.time_s = statistics::summarize(m.samples_s);
  return m;
}

report::NamedReport RunSimulator::draw(const std::vector<double>& medians_s) {
  report::NamedReport run = {fmt::format("run {}", runs_), gpu_run(runs_)};
  ++runs_;
  run.report.tensors.clear();
  const double run_offset = model_.run_offset * normal();
  for (std::size_t i = 0; i < medians_s.size(); ++i) {
    run.report.tensors.push_back(tensor_of(i, static_cast<std::int64_t>(i) + 1));
    run.report.measurements.push_back(draw_cell(medians_s[i], run_offset));
    run.report.measurements.back().cell.tensor = run.report.tensors.back().id;
  }
  return run;
}

}  // namespace nf4bench::test
