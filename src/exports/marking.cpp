#include "exports/marking.hpp"

#include "exports/export.hpp"
#include "exports/rows.hpp"
#include "statistics/statistics.hpp"
#include "text/printers.hpp"
#include "text/units.hpp"

#include <fmt/format.h>

#include <map>
#include <string_view>

namespace nf4bench::exports {
namespace {

std::string plain(const std::string& text) {
  return text::in_markdown(text, kLongestText);
}

using Rows = std::vector<const record::Measurement*>;  // of one variant

// What the measurements of one variant say.
struct Record {
  std::size_t measured = 0;
  int passed = 0;
  int failed = 0;
  bool has_float16 = false;  // a measurement of that type passed
  bool has_bfloat16 = false;
  std::vector<double> ratios;
};

Record collect(const Rows& rows) {
  Record record;
  record.measured = rows.size();
  for (const record::Measurement* row : rows) {
    if (row->status == record::Status::kFailed) ++record.failed;
    if (row->status != record::Status::kPassed) continue;
    ++record.passed;
    if (row->cell.output_type == nf4::OutputType::kFloat16) record.has_float16 = true;
    if (row->cell.output_type == nf4::OutputType::kBfloat16) record.has_bfloat16 = true;
    if (row->speedup && row->speedup->ratio > 0.0) record.ratios.push_back(row->speedup->ratio);
  }
  return record;
}

std::string why_no_points(const Record& record) {
  if (record.failed > 0) {
    return fmt::format("{} of its {} measurements failed", record.failed, record.measured);
  }
  if (record.passed == 0) return "none of its measurements passed";
  if (record.ratios.empty()) return "it has no speedup: the baseline was not timed in its cells";
  return "";
}

int speedup_points(double speedup) {
  if (speedup <= 1.0) return -3;
  return (speedup >= 1.05 ? 1 : 0) + (speedup >= 1.10 ? 2 : 0) + (speedup >= 1.15 ? 2 : 0);
}

// Why a variant does not work in torch.compile; empty when it does.
std::string why_not_compiled(const Rows& rows, const Record& plain) {
  const Record record = collect(rows);
  if (record.failed == 0 && record.passed > 0 && record.passed >= plain.passed) return "";
  std::string reason = fmt::format("through torch.compile {} of {} measurements passed",
                                   record.passed, record.measured);
  for (const record::Measurement* row : rows) {
    if (row->status == record::Status::kFailed) return reason + ": " + row->reason;
  }
  return reason;
}

Marking mark(const Rows& rows, const record::ReportVariant& variant, const Rows* compiled) {
  const Record record = collect(rows);
  Marking marking;
  marking.variant = variant.name;
  marking.reason = why_no_points(record);
  if (compiled != nullptr) marking.torch_compile_reason = why_not_compiled(*compiled, record);
  if (!record.ratios.empty()) marking.speedup = statistics::geometric_mean(record.ratios);
  if (!marking.reason.empty()) return marking;
  marking.points =
      MarkingPoints{.single_kernel = variant.launches == 1 ? 3 : 0,
                    .speedup = speedup_points(*marking.speedup),
                    .custom_asm = variant.inline_ptx ? 3 : 0,
                    .cache_eviction = variant.cache_hints ? 1 : 0,
                    .tested_types = record.has_float16 && record.has_bfloat16 ? 1 : -1};
  if (compiled != nullptr) {
    marking.points->torch_compile = marking.torch_compile_reason.empty() ? 1 : -1;
  }
  return marking;
}

std::string line_of(const Marking& marking) {
  if (!marking.points) {
    return fmt::format("| {} | no points: {} | | | | | | |\n", plain(marking.variant),
                       marking.reason);
  }
  const MarkingPoints& points = *marking.points;
  return fmt::format("| {} | {} | {} {:+} | {} | {} | {} | {} | {} |\n", plain(marking.variant),
                     points.single_kernel, text::format_ratio(*marking.speedup), points.speedup,
                     points.torch_compile ? fmt::format("{:+}", *points.torch_compile) : "-",
                     points.custom_asm, points.cache_eviction, points.tested_types, points.total());
}

}  // namespace

std::vector<Marking> mark_variants(const record::Report& report) {
  std::vector<Marking> markings;
  if (report.device.kind != record::DeviceKind::kCuda) return markings;
  std::map<std::string_view, Rows> rows;
  for (const record::Measurement& m : report.measurements) {
    if (m.cell.operation == record::kDequantize) rows[m.variant].push_back(&m);
  }
  std::map<std::string_view, const Rows*> compiled;
  for (const record::ReportVariant& variant : report.variants) {
    if (variant.operation != record::kDequantize) continue;  // the scheme knows no other
    if (!variant.compiled_from.empty()) compiled[variant.compiled_from] = &rows[variant.name];
  }
  for (const record::ReportVariant& variant : report.variants) {
    if (variant.operation != record::kDequantize || !variant.compiled_from.empty()) continue;
    const auto found = compiled.find(variant.name);
    markings.push_back(
        mark(rows[variant.name], variant, found == compiled.end() ? nullptr : found->second));
  }
  return markings;
}

void to_marking(const record::Report& report, const json::TextSink& sink) {
  std::string text = fmt::format(
      "### Marks by the scheme of Unsloth's challenge A\n\n{}: of {} points; speedup is the "
      "geometric mean over all cells that passed; torch.compile is not marked for kernels of a "
      "CUDA binary, which are no part of a PyTorch program\n\n",
      plain(report.device.name), kMostMarkingPoints);
  const std::vector<Marking> markings = mark_variants(report);
  if (markings.empty()) {
    sink(text + "None: the scheme is about GPU kernels, and this report has none.\n");
    return;
  }
  text +=
      "| variant | one kernel | speedup | torch.compile | asm | eviction | fp16 and bf16 | points "
      "|\n| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n";
  for (const Marking& marking : markings) text += line_of(marking);
  for (const Marking& marking : markings) {
    if (marking.torch_compile_reason.empty()) continue;
    text +=
        fmt::format("\n> {}: {}\n", plain(marking.variant), plain(marking.torch_compile_reason));
  }
  sink(text);
}

}  // namespace nf4bench::exports
