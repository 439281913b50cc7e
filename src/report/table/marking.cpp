#include "report/marking.hpp"

#include "report/table/parts.hpp"
#include "text/units.hpp"

#include <fmt/format.h>

namespace nf4bench::report {
namespace {

// Dropped on narrow terminals, highest rank first. The total stays.
std::vector<text::GridColumn> marking_columns() {
  return {
      {"variant", text::Align::kLeft},
      {"one kernel", text::Align::kRight, 2},
      {"speedup", text::Align::kRight, 1},
      {"asm", text::Align::kRight, 3},
      {"eviction", text::Align::kRight, 4},
      {"fp16+bf16", text::Align::kRight, 5},
      {"points"},
  };
}

// "+3", " 0"
std::string signed_points(int points) {
  return points == 0 ? " 0" : fmt::format("{:+}", points);
}

// "yes +3"
std::string answer(bool is_met, int points) {
  return fmt::format("{} {}", is_met ? "yes" : "no", signed_points(points));
}

text::GridRow marking_row(const Marking& marking, const std::string& baseline) {
  text::GridRow row;
  if (marking.variant == baseline) row.marker = kBaselineMark;
  if (!marking.points) {
    row.cells = {shown_variant(marking.variant)};
    row.message = "no points: " + marking.reason;
    row.tone = text::Tone::kFaint;
    return row;
  }
  const MarkingPoints& points = *marking.points;
  row.cells = {
      shown_variant(marking.variant),
      answer(marking.single_kernel, points.single_kernel),
      fmt::format("{} {}", text::format_ratio(marking.speedup.value_or(0.0)),
                  signed_points(points.speedup)),
      answer(marking.custom_asm, points.custom_asm),
      answer(marking.cache_eviction, points.cache_eviction),
      answer(marking.tested_float16 && marking.tested_bfloat16, points.tested_types),
      fmt::format("{}", points.total()),
  };
  return row;
}

}  // namespace

void append_marking(TablePage& page, const record::Report& report) {
  std::vector<text::GridRow> rows;
  for (const Marking& marking : mark_variants(report)) {
    rows.push_back(marking_row(marking, report.settings.baseline));
  }
  page.blank();
  page.heading("Marks by the scheme of Unsloth's challenge A",
               fmt::format("of {} points", kMostMarkingPoints));
  if (rows.empty()) {
    page.paragraph("none: the scheme is about GPU kernels, and this run had none", 2,
                   text::Tone::kFaint);
    return;
  }
  const text::GridLayout layout = text::fit_columns(marking_columns(), rows, page.width());
  page.grid_header(layout);
  for (const text::GridRow& row : rows) page.grid_row(layout, row);
  page.paragraph(
      fmt::format("speedup: geometric mean over all cells that passed; torch.compile (+1 or -1) is "
                  "not marked: {}",
                  kNoTorchCompile),
      2, text::Tone::kFaint);
}

}  // namespace nf4bench::report
