#include "report/marking.hpp"

#include "report/table/parts.hpp"
#include "text/units.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace nf4bench::report {
namespace {

// Behind "variant", "one kernel" and "speedup".
constexpr std::ptrdiff_t kCompilePlace = 3;

// Dropped on narrow terminals, highest rank first. The total stays.
std::vector<text::GridColumn> marking_columns(bool has_compiled) {
  std::vector<text::GridColumn> columns = {
      {"variant", text::Align::kLeft},
      {"one kernel", text::Align::kRight, 2},
      {"speedup", text::Align::kRight, 1},
      {"asm", text::Align::kRight, 3},
      {"eviction", text::Align::kRight, 4},
      {"fp16+bf16", text::Align::kRight, 5},
      {"points"},
  };
  if (has_compiled) {
    columns.insert(columns.begin() + kCompilePlace, {"compile", text::Align::kRight, 6});
  }
  return columns;
}

// "+3", " 0"
std::string signed_points(int points) {
  return points == 0 ? " 0" : fmt::format("{:+}", points);
}

// "yes +3"
std::string answer(bool is_met, int points) {
  return fmt::format("{} {}", is_met ? "yes" : "no", signed_points(points));
}

std::string compile_answer(const Marking& marking) {
  if (!marking.torch_compile) return "-";
  return answer(*marking.torch_compile, marking.points->torch_compile.value_or(0));
}

text::GridRow marking_row(const Marking& marking, const std::string& baseline, bool has_compiled) {
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
  if (has_compiled) row.cells.insert(row.cells.begin() + kCompilePlace, compile_answer(marking));
  return row;
}

}  // namespace

void append_marking(TablePage& page, const record::Report& report) {
  const std::vector<Marking> markings = mark_variants(report);
  const bool has_compiled = std::ranges::any_of(
      markings, [](const Marking& marking) { return marking.torch_compile.has_value(); });
  std::vector<text::GridRow> rows;
  rows.reserve(markings.size());
  for (const Marking& marking : markings) {
    rows.push_back(marking_row(marking, report.settings.baseline, has_compiled));
  }
  page.blank();
  page.heading("Marks by the scheme of Unsloth's challenge A",
               fmt::format("of {} points", kMostMarkingPoints));
  if (rows.empty()) {
    page.paragraph("none: the scheme is about GPU kernels, and this run had none", 2,
                   text::Tone::kFaint);
    return;
  }
  const text::GridLayout layout =
      text::fit_columns(marking_columns(has_compiled), rows, page.width());
  page.grid_header(layout);
  for (const text::GridRow& row : rows) page.grid_row(layout, row);
  const std::string of_compile =
      has_compiled ? "compile: bit for bit through torch.compile, traced whole"
                   : fmt::format("torch.compile (+1 or -1) is not marked: {}", kNoTorchCompile);
  page.paragraph(fmt::format("speedup: geometric mean over all cells that passed; {}", of_compile),
                 2, text::Tone::kFaint);
}

}  // namespace nf4bench::report
