#include "report/marking.hpp"

#include "statistics/statistics.hpp"

#include <fmt/format.h>

#include <map>
#include <string_view>

namespace nf4bench::report {
namespace {

struct Tier {
  double speedup;
  int points;  // in addition to those of the tiers below
};

constexpr Tier kTiers[] = {{1.05, 1}, {1.10, 2}, {1.15, 2}};
constexpr int kPointsWithoutSpeedup = -3;

using Rows = std::vector<const record::Measurement*>;  // of one variant

// What the measurements of one variant say.
struct Record {
  int measured = 0;
  int passed = 0;
  int failed = 0;
  std::vector<double> ratios;
};

Record collect(const Rows& rows, Marking& marking) {
  Record record;
  for (const record::Measurement* row : rows) {
    const record::Measurement& m = *row;
    ++record.measured;
    if (m.status == record::Status::kFailed) ++record.failed;
    if (m.status != record::Status::kPassed) continue;
    ++record.passed;
    if (m.cell.output_type == nf4::OutputType::kFloat16) marking.tested_float16 = true;
    if (m.cell.output_type == nf4::OutputType::kBfloat16) marking.tested_bfloat16 = true;
    if (m.speedup && m.speedup->ratio > 0.0) record.ratios.push_back(m.speedup->ratio);
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
  if (speedup <= 1.0) return kPointsWithoutSpeedup;
  int points = 0;
  for (const Tier& tier : kTiers) {
    if (speedup >= tier.speedup) points += tier.points;
  }
  return points;
}

// Says in `marking` what became of the variant through torch.compile.
void mark_compiled(const Rows& rows, const Record& plain, Marking& marking) {
  Marking unused;
  const Record record = collect(rows, unused);
  marking.torch_compile = record.failed == 0 && record.passed > 0 && record.passed >= plain.passed;
  marking.torch_compile_reason = "";
  if (*marking.torch_compile) return;
  marking.torch_compile_reason = fmt::format("through torch.compile {} of {} measurements passed",
                                             record.passed, record.measured);
  for (const record::Measurement* row : rows) {
    if (row->status != record::Status::kFailed) continue;
    marking.torch_compile_reason += ": " + row->reason;
    break;
  }
}

Marking mark(const Rows& rows, const record::ReportVariant& variant, const Rows* compiled) {
  Marking marking;
  marking.variant = variant.name;
  marking.single_kernel = variant.launches == 1;
  marking.custom_asm = variant.inline_ptx;
  marking.cache_eviction = variant.cache_hints;
  const Record record = collect(rows, marking);
  if (compiled != nullptr) mark_compiled(*compiled, record, marking);
  if (!record.ratios.empty()) marking.speedup = statistics::geometric_mean(record.ratios);
  for (const Tier& tier : kTiers) {
    if (marking.speedup && *marking.speedup >= tier.speedup) marking.speedup_tier = tier.speedup;
  }
  marking.reason = why_no_points(record);
  if (!marking.reason.empty()) return marking;
  const bool has_both_types = marking.tested_float16 && marking.tested_bfloat16;
  marking.points = MarkingPoints{.single_kernel = marking.single_kernel ? 3 : 0,
                                 .speedup = speedup_points(*marking.speedup),
                                 .custom_asm = marking.custom_asm ? 3 : 0,
                                 .cache_eviction = marking.cache_eviction ? 1 : 0,
                                 .tested_types = has_both_types ? 1 : -1};
  if (marking.torch_compile) marking.points->torch_compile = *marking.torch_compile ? 1 : -1;
  return marking;
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

}  // namespace nf4bench::report
