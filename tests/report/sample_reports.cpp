#include "report/sample_reports.hpp"

#include "statistics/statistics.hpp"

#include <algorithm>
#include <string>
#include <vector>

namespace nf4bench {
namespace {

constexpr double kCopyRate = 4.284e12;

record::ReportTensor tensor_of(const std::string& id, const std::string& name,
                               std::vector<std::int64_t> shape, std::int64_t multiplicity) {
  record::ReportTensor tensor;
  tensor.id = id;
  tensor.name = name;
  tensor.source = "preset llama-3.1-8b";
  tensor.geometry.shape = std::move(shape);
  tensor.geometry.blocksize = 64;
  tensor.sha256 = std::string(62, '4') + "a" + id.substr(1);
  tensor.multiplicity = multiplicity;
  return tensor;
}

// Seven samples around `median_s`, none like another.
std::vector<double> samples_around(double median_s) {
  return {median_s * 1.0125, median_s,         median_s * 0.9975, median_s * 1.003,
          median_s * 0.999,  median_s * 1.001, median_s * 0.99625};
}

record::Measurement row_of(const record::ReportTensor& tensor, const std::string& variant,
                           record::CacheMode cache, record::LaunchMode launch,
                           const std::string& device) {
  record::Measurement m;
  m.cell.operation = "dequantize";
  m.cell.tensor = tensor.id;
  m.variant = variant;
  m.cell.device = device;
  m.cell.output_type = tensor.dtype;
  m.cell.cache = cache;
  m.cell.launch = launch;
  const std::int64_t elements = tensor.geometry.elements();
  m.bytes_read = elements / 2 + elements / 64 + elements / 64 / 256 * 4;
  m.bytes_written = elements * 2;
  return m;
}

record::Measurement passed(record::Measurement m, std::int64_t elements, double median_s,
                           double baseline_s, const std::string& baseline) {
  m.status = record::Status::kPassed;
  m.verification = record::Verification{elements, 0, std::nullopt, 0};
  m.samples_s = samples_around(median_s);
  m.time_s = statistics::summarize(m.samples_s);
  m.launches_per_sample = 3;
  m.stopped_by = record::StopReason::kPrecision;
  m.bytes_per_s = static_cast<double>(m.bytes_read + m.bytes_written) / median_s;
  m.fraction_of_copy = *m.bytes_per_s / kCopyRate;
  const double ratio = baseline_s / median_s;
  m.speedup = record::Speedup{baseline, ratio, {{ratio * 0.996, ratio * 1.005}}};
  if (m.variant == baseline) m.speedup = record::Speedup{baseline, 1.0, {{1.0, 1.0}}};
  return m;
}

record::Measurement skipped(const record::Measurement& m, const std::string& reason) {
  record::Measurement left;
  left.cell = m.cell;
  left.variant = m.variant;
  left.reason = reason;
  left.bytes_read = m.bytes_read;
  left.bytes_written = m.bytes_written;
  left.flops = m.flops;
  return left;
}

// All variants of one geometry and cell; `baseline_s` scales the times.
void add_gpu_cell(record::Report& report, const record::ReportTensor& tensor,
                  record::CacheMode cache, double baseline_s) {
  const auto row = [&](const char* variant) {
    return row_of(tensor, variant, cache, record::LaunchMode::kGraph, "cuda:0");
  };
  const std::int64_t elements = tensor.geometry.elements();
  // Small geometries gain less: what a launch costs stays the same.
  const double drag = 1.0 + 2.0e-6 / baseline_s;
  const auto timed = [&](const char* variant, double share) {
    const double fraction = share < 1.0 ? share * drag : share;
    record::Measurement m =
        passed(row(variant), elements, baseline_s * fraction, baseline_s, "multi_kernel");
    m.fraction_of_stream = 0.29 / fraction;
    m.sm_clock_hz = {1.98e9, 1.98e9, 1.965e9, 1.98e9, 1.971e9, 1.971e9, 1.95e9};
    m.throttled_samples = 0;
    m.alone =
        record::Alone{.median_s = m.time_s->median, .ci95 = m.time_s->ci95, .sm_clock_hz = 1.968e9};
    report.measurements.push_back(m);
  };
  timed("branch_tree", 1.6371);
  timed("multi_kernel", 1.0);
  timed("fused", 0.3011);
  record::Measurement wrong = row("select_tree");
  wrong.status = record::Status::kFailed;
  wrong.reason = "12 of " + std::to_string(elements) +
                 " elements differ from the reference, the first at 77, by up to 3 ulp";
  wrong.verification = record::Verification{elements, 12, 77, 3};
  report.measurements.push_back(wrong);
  report.stream_ceilings.push_back(
      {row("vector16").cell, "vector16", baseline_s * 0.29, 0.9713 * kCopyRate});
}

void add_gpu_machine(record::Report& report) {
  report.host = {"node7",
                 "Debian GNU/Linux 12 (bookworm)",
                 "6.1.0-38-amd64",
                 "Intel(R) Xeon(R) Platinum 8480C",
                 112,
                 2151677952000};
  report.device.kind = record::DeviceKind::kCuda;
  report.device.id = "cuda:0";
  report.device.name = "NVIDIA H200";
  report.device.compute_capability = 90;
  report.device.multiprocessors = 132;
  report.device.l2_bytes = 62914560;
  report.device.memory_bytes = 150122856448;
  report.device.peak_bytes_per_s = 4.9158e12;
  report.device.uuid = "GPU-6f1c3c52-8b7f-5d2c-9f57-2f4c7b1f7a10";
  report.device.pci_id = "0000:19:00.0";
  report.device.driver = "580.159.04";
  report.device.runtime = "13.0";
  report.device.ecc = true;
  report.device.mig = false;
  report.state_before.sm_clock_hz = 1.98e9;
  report.state_before.max_sm_clock_hz = 1.98e9;
  report.state_before.memory_clock_hz = 3.201e9;
  report.state_before.power_w = 118.25;
  report.state_before.power_limit_w = 700.0;
  report.state_before.temperature_c = 31.0;
  report.state_before.persistence = true;
  report.state_before.other_processes = 0;
  report.state_after = report.state_before;
  report.state_after->power_w = 402.5;
  report.state_after->temperature_c = 44.0;
  report.state_after->throttle_reasons = {"sw_power_cap"};
  report.state_after->other_processes = 2;
}

record::ReportVariant variant_of(const std::string& name, int launches) {
  record::ReportVariant variant;
  variant.name = name;
  variant.operation = "dequantize";
  variant.summary = "The idea of " + name;
  variant.launches = launches;
  variant.mirrors = "a published design";
  return variant;
}

void add_gpu_variants(record::Report& report) {
  report.variants = {variant_of("branch_tree", 1), variant_of("multi_kernel", 3),
                     variant_of("fused", 1), variant_of("select_tree", 1)};
  report.peers = {
      {"mine", "./libmine.so", 81920, std::string(62, '7') + "e0", "2026-03-04T05:06:07Z"}};
  report.variants[2].persistent = true;
  report.variants[2].cache_hints = true;
  report.variants[3].inline_ptx = true;
}

record::ToolInfo sample_tool() {
  return {"0.1.0", "4f0c2d9e8b7a61c5", false, "Release", "GNU 12.2.0", "75;80;86;89;90;100;120"};
}

// At 640 W.
record::Energy energy_of_calls(double call_s) {
  return {.joules = 640.0 * call_s,
          .power_w = 640.0,
          .seconds = 1.0625,
          .calls = static_cast<std::int64_t>(1.0625 / call_s),
          .error = 0.0078125};
}

}  // namespace

record::Report gpu_report() {
  record::Report report;
  report.complete = true;
  report.tool = sample_tool();
  report.command = {"nf4bench", "run", "--preset", "llama-3.1-8b"};
  report.started_at = "2026-03-04T05:06:07Z";
  report.finished_at = "2026-03-04T05:08:09Z";
  add_gpu_machine(report);
  report.settings.caches = {record::CacheMode::kCold, record::CacheMode::kHot};
  report.settings.baseline = "multi_kernel";
  report.settings.caches_rotated = 20;
  report.settings.seed = 18446744073709551615u;
  report.tensors = {tensor_of("t0", "gate_proj, up_proj", {14336, 4096}, 64),
                    tensor_of("t1", "1024x4096", {1024, 4096}, 128)};
  add_gpu_variants(report);
  add_gpu_cell(report, report.tensors[0], record::CacheMode::kCold, 122.875e-6);
  add_gpu_cell(report, report.tensors[1], record::CacheMode::kCold, 12.5e-6);
  add_gpu_cell(report, report.tensors[1], record::CacheMode::kHot, 10.25e-6);
  report.idle_power_w = 121.5;
  for (record::Measurement& m : report.measurements) {
    const bool is_chosen = m.cell.tensor == "t1" && m.cell.cache == record::CacheMode::kCold;
    if (is_chosen && m.time_s) m.energy = energy_of_calls(m.time_s->median);
  }
  report.measurements[4] = skipped(report.measurements[4], "needs at least 8192 blocks");
  record::Measurement& untrue = report.measurements.back();
  untrue = report.measurements[10];
  untrue.variant = "select_tree";
  untrue.status = record::Status::kInvalid;
  untrue.reason = "moves 5.71 TB/s, more than the memory's peak of 4.92 TB/s";
  untrue.speedup.reset();
  report.ceilings = {1073741824, kCopyRate, 536870912, 3.05e12, 1.4e-6, 2.1e-6};
  report.tensors_verified = 192;
  report.warnings = {
      "Clocks moved by 1.5 % while t1 was measured: lock them with nvidia-smi -lgc."};
  return report;
}

record::Report cpu_report() {
  record::Report report;
  report.tool = sample_tool();
  report.tool.git_commit.clear();
  report.tool.cuda_architectures.clear();
  report.command = {"nf4bench", "run", "data/plain \"odd\".safetensors", "--device", "cpu"};
  report.started_at = "2026-03-04T05:06:07Z";
  report.host = {"laptop",
                 "Debian GNU/Linux 12 (bookworm)",
                 "6.1.0-38-amd64",
                 "AMD EPYC 9554 64-Core Processor",
                 2,
                 8241147904};
  report.device.id = "cpu";
  report.device.name = report.host.cpu;
  report.device.compute_capability = 0;
  report.device.multiprocessors = 2;
  report.device.l2_bytes = 33554432;
  report.device.memory_bytes = report.host.memory_bytes;
  report.device.simd = "AVX3_ZEN4";
  report.state_before.unavailable = "clocks and power are not read on a CPU";
  report.settings.baseline = "multi_pass";
  report.settings.caches_rotated = 5;
  report.settings.output_types = {nf4::OutputType::kFloat16};
  report.settings.launches = {record::LaunchMode::kStream};
  report.settings.verify = record::VerifyScope::kSampled;
  record::ReportTensor tensor = tensor_of("t0",
                                          "bl\xc3\xb6"
                                          "cke.weight",
                                          {5, 129, 3}, 1);
  tensor.source = "data/plain \"odd\".safetensors";
  tensor.geometry.absmax_kind = nf4::AbsmaxKind::kPlain;
  tensor.dtype = nf4::OutputType::kFloat16;
  report.tensors = {tensor};
  const auto add = [&](const char* variant, double median_s) {
    report.measurements.push_back(passed(
        row_of(tensor, variant, record::CacheMode::kCold, record::LaunchMode::kStream, "cpu"),
        tensor.geometry.elements(), median_s, 4.5e-6, "multi_pass"));
  };
  add("reference", 18.0625e-6);
  add("multi_pass", 4.5e-6);
  add("simd", 843.75e-9);
  for (record::Measurement& m : report.measurements) {
    m.load = record::HostLoad{.processors = 2,
                              .others = 0.0625,
                              .stolen = 0.0078125,
                              .involuntary_switches = 17,
                              .disturbed = false};
    m.energy = record::Energy{.unavailable = "the device has no energy counter"};
  }
  report.ceilings.copy_bytes = 268435456;
  report.ceilings.copy_bytes_per_s = 21.3e9;
  report.tensors_verified = 1;
  return report;
}

namespace {

constexpr double kProductRate = 7.0e14;

// One variant with so many tokens; `share` is its time over the baseline's.
record::Measurement product_of(const record::ReportTensor& tensor, std::int64_t tokens,
                               const std::string& variant, double share) {
  record::Measurement m =
      row_of(tensor, variant, record::CacheMode::kCold, record::LaunchMode::kGraph, "cuda:0");
  const std::int64_t outputs = tensor.geometry.shape[0];
  const std::int64_t inputs = tensor.geometry.shape[1];
  m.cell.operation = "matmul";
  m.cell.tokens = tokens;
  m.bytes_read += tokens * inputs * 2;
  m.bytes_written = tokens * outputs * 2;
  m.flops = 2.0 * static_cast<double>(tokens * outputs * inputs);
  const double memory_s = static_cast<double>(m.bytes_read + m.bytes_written) / kCopyRate;
  const double compute_s = m.flops / kProductRate;
  const double baseline_s = 6.0 * memory_s + compute_s;
  const double median_s = baseline_s * share;
  m = passed(m, tokens * outputs, median_s, baseline_s, "chain_cublas");
  m.flops_per_s = m.flops / median_s;
  m.roof = record::Roof{
      .fraction = std::max(memory_s, compute_s) / median_s,
      .limit = compute_s > memory_s ? record::RoofLimit::kCompute : record::RoofLimit::kMemory};
  const bool is_exact = variant != "gemv_shuffle";
  m.verification->accuracy = record::Accuracy{
      .weights = is_exact ? record::WeightClass::kExact : record::WeightClass::kRounded,
      .rms_error = is_exact ? 0.0015625 : 0.0037109375,
      .max_error = is_exact ? 0.0078125 : 0.0185546875,
      .inputs = record::InputsSeen{.alone = std::min<std::int64_t>(512 * tokens, inputs),
                                   .summed = inputs}};
  return m;
}

}  // namespace

record::Report matmul_report() {
  record::Report report = gpu_report();
  report.command = {"nf4bench", "run", "--preset", "llama-3.1-8b", "--operation", "matmul"};
  report.settings.caches = {record::CacheMode::kCold};
  report.settings.baseline = "chain_cublas";
  report.settings.operations = {{"matmul", "chain_cublas"}};
  report.shard = {.index = 2, .count = 8, .split = false, .origin = "SLURM_PROCID"};
  report.settings.activations = record::Activations::kOutlier;
  report.tensors.pop_back();
  report.variants = {variant_of("chain_cublas", 4), variant_of("gemv_shuffle", 1),
                     variant_of("fused", 1), variant_of("cublas_resident", 1)};
  for (record::ReportVariant& variant : report.variants) variant.operation = "matmul";
  report.measurements.clear();
  report.stream_ceilings.clear();
  const record::ReportTensor& tensor = report.tensors.front();
  for (const std::int64_t tokens : {1, 8, 64}) {
    report.measurements.push_back(product_of(tensor, tokens, "chain_cublas", 1.0));
    const double gemv_share = tokens == 1 ? 0.25 : 1.75;
    record::Measurement gemv = product_of(tensor, tokens, "gemv_shuffle", gemv_share);
    if (tokens == 64) gemv = skipped(gemv, "takes at most 16 tokens");
    report.measurements.push_back(gemv);
    report.measurements.push_back(product_of(tensor, tokens, "fused", 0.28125));
    record::Measurement resident = product_of(tensor, tokens, "cublas_resident", 0.25);
    resident.reference_line = true;
    report.measurements.push_back(resident);
  }
  report.ceilings.flops_per_s = {{nf4::OutputType::kFloat16, 6.9e14},
                                 {nf4::OutputType::kBfloat16, kProductRate}};
  report.tensors_verified = 64;
  report.warnings.clear();
  return report;
}

}  // namespace nf4bench
