#include "base/text.hpp"
#include "doctor/diagnosis_text.hpp"
#include "doctor/findings_table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>

namespace nf4bench::doctor {
namespace {

std::string clock_text(const GpuState& gpu) {
  if (!gpu.sm_clock_hz) return "";
  const std::string now = fmt::format("{:.0f}", *gpu.sm_clock_hz / 1e6);
  return gpu.max_sm_clock_hz ? fmt::format("{}/{:.0f}", now, *gpu.max_sm_clock_hz / 1e6) : now;
}

std::string throttle_text(const GpuState& gpu) {
  if (!gpu.throttle_reasons) return "";
  if (gpu.throttle_reasons->empty()) return "no";
  return fmt::format("{}", fmt::join(*gpu.throttle_reasons, ", "));
}

std::string pcie_text(const GpuState& gpu) {
  if (!gpu.pcie_generation || !gpu.pcie.width) return "";
  return fmt::format("{} x{}", *gpu.pcie_generation, *gpu.pcie.width);
}

std::string nvlink_text(const GpuState& gpu) {
  if (!gpu.nvlinks) return "";
  if (gpu.nvlinks->present == 0) return "none";
  return fmt::format("{}/{}", gpu.nvlinks->active, gpu.nvlinks->present);
}

template <class Number>
std::string number_text(const std::optional<Number>& number) {
  return number ? fmt::format("{:.0f}", static_cast<double>(*number)) : "";
}

text::GridRow device_row(const Diagnosis& diagnosis) {
  const GpuState gpu = diagnosis.gpu.value_or(GpuState());
  text::GridRow row;
  row.cells = {diagnosis.device.id,
               escaped(diagnosis.device.name, 40),
               verdict_word(diagnosis.worst),
               number_text(gpu.temperature_c),
               clock_text(gpu),
               throttle_text(gpu),
               word_of(gpu.ecc),
               number_text(gpu.uncorrected_errors),
               number_text(gpu.remapped_rows),
               pcie_text(gpu),
               nvlink_text(gpu),
               word_of(gpu.mig)};
  if (diagnosis.worst == Severity::kWorthless) row.tone = text::Tone::kBad;
  if (diagnosis.worst == Severity::kWarning) row.tone = text::Tone::kDoubt;
  return row;
}

std::vector<text::GridColumn> columns() {
  return {{.title = "device", .align = text::Align::kLeft},
          {.title = "GPU", .align = text::Align::kLeft, .drop_rank = 3},
          {.title = "verdict", .align = text::Align::kLeft},
          {.title = "deg C"},
          {.title = "MHz"},
          {.title = "throttled", .align = text::Align::kLeft, .drop_rank = 1},
          {.title = "ECC", .align = text::Align::kLeft},
          {.title = "errors", .drop_rank = 2},
          {.title = "remapped", .drop_rank = 2},
          {.title = "PCIe"},
          {.title = "NVLink"},
          {.title = "MIG", .align = text::Align::kLeft}};
}

}  // namespace

std::string devices_table(const std::vector<Diagnosis>& diagnoses,
                          const report::TableStyle& style) {
  std::vector<text::GridRow> rows;
  rows.reserve(diagnoses.size());
  for (const Diagnosis& each : diagnoses) rows.push_back(device_row(each));
  report::TablePage page(style);
  const text::GridLayout layout = text::fit_columns(columns(), rows, style.width);
  page.grid_header(layout);
  for (const text::GridRow& row : rows) page.grid_row(layout, row);
  page.blank();
  for (const Diagnosis& each : diagnoses) {
    std::vector<Finding> bad;
    std::ranges::copy_if(each.findings, std::back_inserter(bad), [](const Finding& finding) {
      return finding.severity >= Severity::kWarning;
    });
    if (!bad.empty()) append_findings(page, each.device, bad);
  }
  return page.take();
}

}  // namespace nf4bench::doctor
