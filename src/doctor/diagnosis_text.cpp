#include "doctor/diagnosis.hpp"
#include "statistics/statistics.hpp"
#include "text/layout.hpp"
#include "text/printers.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace nf4bench::doctor {
namespace {

using text::Value;
using Column = text::ColumnOf<Diagnosis>;

text::Tone tone_of(Severity severity) {
  return severity == Severity::kWorthless ? text::Tone::kBad
         : severity == Severity::kWarning ? text::Tone::kDoubt
                                          : text::Tone::kPlain;
}

text::Columns<Finding> finding_columns() {
  return {{{.name = "severity"}, [](const Finding& each) { return to_string(each.severity); }},
          {{.name = "check", .key = "check"}, &Finding::check},
          {{.key = "severity"}, [](const Finding& each) { return to_string(each.severity); }},
          {{.key = "found"}, &Finding::found},
          {{.key = "why"}, &Finding::why},
          {{.key = "remedy"}, [](const Finding& each) { return text::if_said(each.remedy); }}};
}

// A row for each finding that is at least as bad as `least`. Bad ones come with a reason.
text::Sheet findings_sheet(const std::vector<Finding>& findings, Severity least) {
  const text::Columns<Finding> columns = finding_columns();
  text::Sheet sheet = text::empty_sheet(columns);
  sheet.leading = 2;
  text::Section& section = sheet.sections.emplace_back();
  for (const Finding& finding : findings) {
    if (finding.severity < least) continue;
    text::Row row = text::row_of(columns, finding);
    row.tone = tone_of(finding.severity);
    row.message = finding.found;
    if (finding.severity >= Severity::kWarning) row.why = "why: " + finding.why;
    if (!finding.remedy.empty()) row.fix = "fix: " + finding.remedy;
    section.rows.push_back(std::move(row));
  }
  return sheet;
}

// What is known of a GPU.
template <typename Function>
auto of_gpu(Function function) {
  return
      [function](const Diagnosis& each) { return each.gpu ? Value(function(*each.gpu)) : Value(); };
}

template <typename Known>
Column gpu_column(text::Column column, Known GpuState::*member) {
  return {std::move(column), of_gpu([member](const GpuState& gpu) { return gpu.*member; })};
}

Column text_column(text::Column column, std::string record::DeviceInfo::*member) {
  return {std::move(column),
          [member](const Diagnosis& each) { return text::if_said(each.device.*member); }};
}

// "1710/1980"
Value clock_of(const GpuState& gpu) {
  if (!gpu.sm_clock_hz) return {};
  const std::string now = fmt::format("{:.0f}", *gpu.sm_clock_hz / 1e6);
  return gpu.max_sm_clock_hz ? fmt::format("{}/{:.0f}", now, *gpu.max_sm_clock_hz / 1e6) : now;
}

Value throttle_of(const GpuState& gpu) {
  if (!gpu.throttle_reasons) return {};
  return gpu.throttle_reasons->empty() ? Value("no") : Value(*gpu.throttle_reasons);
}

Value pcie_of(const GpuState& gpu) {
  if (!gpu.pcie_generation || !gpu.pcie.width) return {};
  return fmt::format("{} x{}", *gpu.pcie_generation, *gpu.pcie.width);
}

Value nvlink_of(const GpuState& gpu) {
  if (!gpu.nvlinks) return {};
  if (gpu.nvlinks->present == 0) return "none";
  return fmt::format("{}/{}", gpu.nvlinks->active, gpu.nvlinks->present);
}

template <device::GpuSetting GpuState::*kMember>
Value setting_of(const GpuState& gpu) {
  return text::if_said(to_string(gpu.*kMember));
}

text::Columns<Diagnosis> device_columns() {
  return {
      {{.key = "schema"}, [](const Diagnosis&) { return kDoctorSchema; }},
      {{.key = "schema_version"}, [](const Diagnosis&) { return kDoctorSchemaVersion; }},
      {{.name = "device", .key = "device.id"},
       [](const Diagnosis& each) { return each.device.id; }},
      {{.key = "device.kind"}, [](const Diagnosis& each) { return to_string(each.device.kind); }},
      {{.name = "GPU", .rank = 3, .key = "device.name", .most = 40, .least = 12},
       [](const Diagnosis& each) { return each.device.name; }},
      text_column({.key = "device.uuid"}, &record::DeviceInfo::uuid),
      text_column({.key = "device.pci_id"}, &record::DeviceInfo::pci_id),
      text_column({.key = "device.driver"}, &record::DeviceInfo::driver),
      text_column({.key = "device.runtime"}, &record::DeviceInfo::runtime),
      {{.name = "verdict", .key = "verdict"},
       [](const Diagnosis& each) { return verdict_word(each.worst); }},
      {{.key = "findings"}, [](const Diagnosis& each) {
         return json_rows(findings_sheet(each.findings, Severity::kOk));
       }}};
}

// Narrow terminals lose first what is seldom wrong.
text::Columns<Diagnosis> gpu_columns() {
  return {gpu_column({.name = "deg C", .key = "gpu.temperature_c"}, &GpuState::temperature_c),
          {{.name = "MHz"}, of_gpu(clock_of)},
          gpu_column({.key = "gpu.sm_clock_hz"}, &GpuState::sm_clock_hz),
          gpu_column({.key = "gpu.max_sm_clock_hz"}, &GpuState::max_sm_clock_hz),
          gpu_column({.key = "gpu.memory_clock_hz"}, &GpuState::memory_clock_hz),
          gpu_column({.key = "gpu.throttle_reasons"}, &GpuState::throttle_reasons),
          {{.name = "throttled", .rank = 1, .least = 4}, of_gpu(throttle_of)},
          {{.name = "ECC", .key = "gpu.ecc"}, of_gpu(setting_of<&GpuState::ecc>)},
          gpu_column({.name = "errors", .rank = 2, .key = "gpu.uncorrected_errors"},
                     &GpuState::uncorrected_errors),
          gpu_column({.name = "remapped", .rank = 4, .key = "gpu.remapped_rows"},
                     &GpuState::remapped_rows),
          {{.name = "PCIe"}, of_gpu(pcie_of)},
          gpu_column({.key = "gpu.pcie.generation"}, &GpuState::pcie_generation),
          {{.key = "gpu.pcie.lanes"}, of_gpu([](const GpuState& gpu) { return gpu.pcie.width; })},
          {{.key = "gpu.pcie.card_generation"},
           of_gpu([](const GpuState& gpu) { return gpu.pcie.card_generation; })},
          {{.key = "gpu.pcie.card_lanes"},
           of_gpu([](const GpuState& gpu) { return gpu.pcie.card_width; })},
          {{.name = "NVLink"}, of_gpu(nvlink_of)},
          {{.key = "gpu.nvlinks.active"}, of_gpu([](const GpuState& gpu) {
             return gpu.nvlinks ? Value(gpu.nvlinks->active) : Value();
           })},
          {{.key = "gpu.nvlinks.present"}, of_gpu([](const GpuState& gpu) {
             return gpu.nvlinks ? Value(gpu.nvlinks->present) : Value();
           })},
          {{.name = "MIG", .key = "gpu.mig"}, of_gpu(setting_of<&GpuState::mig>)}};
}

json::JsonText sides_json(const Diagnosis& diagnosis, double AaPair::*side) {
  std::vector<double> times;
  times.reserve(diagnosis.aa.runs.size());
  for (const AaPair& run : diagnosis.aa.runs) times.push_back(run.*side);
  return json::json_numbers(times);
}

json::JsonText clocks_json(std::vector<double> clocks) {
  if (clocks.empty()) return json::json_null();
  std::ranges::sort(clocks);
  const auto quantile = [&](double q) {
    return json::json_number(statistics::quantile_sorted(clocks, q));
  };
  return json::json_object({{"min", quantile(0.0)},
                            {"p05", quantile(0.05)},
                            {"median", quantile(0.5)},
                            {"p95", quantile(0.95)},
                            {"max", quantile(1.0)}});
}

template <typename Known>
Column noise_column(const char* key, Known AaNoise::*member) {
  return {{.key = key}, [member](const Diagnosis& each) {
            return each.noise ? Value((*each.noise).*member) : Value();
          }};
}

text::Columns<Diagnosis> aa_columns() {
  return {{{.key = "aa_run.variant"}, [](const Diagnosis& each) { return each.aa.variant; }},
          {{.key = "aa_run.shape"}, [](const Diagnosis& each) { return each.aa.shape; }},
          {{.key = "aa_run.first_s"},
           [](const Diagnosis& each) { return sides_json(each, &AaPair::first_s); }},
          {{.key = "aa_run.second_s"},
           [](const Diagnosis& each) { return sides_json(each, &AaPair::second_s); }},
          {{.key = "aa_run.sm_clock_hz"},
           [](const Diagnosis& each) { return clocks_json(each.aa.sm_clock_hz); }},
          noise_column("aa_run.noise.relative", &AaNoise::relative),
          noise_column("aa_run.noise.assumed", &AaNoise::assumed),
          noise_column("aa_run.noise.threshold", &AaNoise::threshold),
          noise_column("aa_run.noise.false_alarms", &AaNoise::false_alarms),
          noise_column("aa_run.noise.side_change", &AaNoise::side_change),
          noise_column("aa_run.noise.sides_differ", &AaNoise::sides_differ),
          {{.key = "aa_run.failure"},
           [](const Diagnosis& each) { return text::if_said(each.aa.failure); }}};
}

// A row for each device. For programs it has all that was found, as docs/doctor.schema.json says.
text::Sheet devices_sheet(const std::vector<Diagnosis>& diagnoses) {
  text::Columns<Diagnosis> columns = device_columns();
  for (const text::Columns<Diagnosis>& more : {gpu_columns(), aa_columns()}) {
    columns.insert(columns.end(), more.begin(), more.end());
  }
  text::Sheet sheet = text::sheet_of(columns, diagnoses);
  for (std::size_t i = 0; i < diagnoses.size(); ++i) {
    sheet.sections.front().rows[i].tone = tone_of(diagnoses[i].worst);
  }
  return sheet;
}

void append_findings(text::Page& page, const Diagnosis& diagnosis, Severity least) {
  const record::DeviceInfo& device = diagnosis.device;
  std::string heading = fmt::format("{}: {}", device.id, text::fitted(device.name, 60));
  if (!device.driver.empty()) heading += ", driver " + text::fitted(device.driver, 40);
  if (!device.runtime.empty()) heading += ", CUDA runtime " + device.runtime;
  page.line(heading, text::Tone::kHeading);
  page.blank();
  page.table(findings_sheet(diagnosis.findings, least));
  page.blank();
}

text::Tone verdict_tone(Severity worst) {
  return worst == Severity::kWorthless ? text::Tone::kBad
         : worst == Severity::kWarning ? text::Tone::kDoubt
                                       : text::Tone::kGood;
}

}  // namespace

std::string diagnosis_table(const Diagnosis& diagnosis, const text::Style& style) {
  text::Page page(style);
  append_findings(page, diagnosis, Severity::kOk);
  page.line("verdict: " + verdict_line(diagnosis), verdict_tone(diagnosis.worst));
  return page.take();
}

std::string diagnosis_json(const Diagnosis& diagnosis) {
  const text::Sheet sheet = devices_sheet({diagnosis});
  return json_row(sheet.columns, sheet.sections.front().rows.front()).text + "\n";
}

std::string devices_table(const std::vector<Diagnosis>& diagnoses, const text::Style& style) {
  text::Page page(style);
  page.table(devices_sheet(diagnoses));
  page.blank();
  for (const Diagnosis& each : diagnoses) {
    if (each.worst >= Severity::kWarning) append_findings(page, each, Severity::kWarning);
  }
  return page.take();
}

std::string devices_json(const std::vector<Diagnosis>& diagnoses) {
  return json_rows(devices_sheet(diagnoses)).text + "\n";
}

}  // namespace nf4bench::doctor
