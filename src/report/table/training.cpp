#include "report/report.hpp"
#include "report/tables.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace nf4bench::report {
namespace {

using record::VariantSummary;

// What multiplies forward and what goes back, one variant or two, with one number of tokens.
struct Step {
  const VariantSummary* forward = nullptr;
  const VariantSummary* back = nullptr;
  bool is_first = false;  // with so many tokens

  std::string variant() const {
    if (forward->variant == back->variant) return forward->variant;
    return fmt::format("{} + {}", forward->variant, back->variant);
  }
  std::int64_t tokens() const { return forward->cell.tokens; }
  // Checkpointed activations are computed again on the way back.
  double time_s() const { return 2.0 * *forward->model_time_s + *back->model_time_s; }
};

std::vector<const VariantSummary*> whole(const std::vector<VariantSummary>& all,
                                         std::string_view operation) {
  std::vector<const VariantSummary*> found;
  for (const VariantSummary& s : all) {
    if (s.cell.operation == operation && s.model_time_s) found.push_back(&s);
  }
  return found;
}

// That of each variant which does both, then of the fastest of each where these are two.
std::vector<Step> steps_of(const record::Cell& mode,
                           const std::vector<const VariantSummary*>& forward,
                           const std::vector<const VariantSummary*>& back) {
  std::vector<Step> steps;
  Step best;
  const auto take_faster = [](const VariantSummary*& least, const VariantSummary* s) {
    if (s->reference_line) return;
    if (least == nullptr || *s->model_time_s < *least->model_time_s) least = s;
  };
  for (const VariantSummary* f : forward) {
    if (f->cell.over_all_operations() != mode) continue;
    take_faster(best.forward, f);
    for (const VariantSummary* b : back) {
      if (b->cell.over_all_operations() != mode || b->cells != f->cells) continue;
      take_faster(best.back, b);
      if (b->variant == f->variant) steps.push_back({f, b});
    }
  }
  if (best.forward != nullptr && best.back != nullptr &&
      best.forward->variant != best.back->variant) {
    steps.push_back(best);
  }
  if (!steps.empty()) steps.front().is_first = true;
  return steps;
}

text::Columns<Step> columns_over(double baseline_s) {
  using text::Unit;
  text::Columns<Step> columns = {
      {{.name = "tokens"},
       [](const Step& s) { return s.is_first ? text::Value(s.tokens()) : text::Value(); }},
      {{.name = "variant", .most = 40}, &Step::variant},
      {{.name = "forward", .unit = Unit::kSeconds, .rank = 2},
       [](const Step& s) { return *s.forward->model_time_s; }},
      {{.name = "back", .unit = Unit::kSeconds, .rank = 2},
       [](const Step& s) { return *s.back->model_time_s; }},
      {{.name = "a step",
        .unit = Unit::kSeconds,
        .meaning = "each product forward, again with checkpointing, and back to its input"},
       &Step::time_s},
      {{.name = "tokens/s",
        .unit = Unit::kPerSecond,
        .rank = 1,
        .meaning = "what these products alone let the model train at most"},
       [](const Step& s) { return static_cast<double>(s.tokens()) / s.time_s(); }}};
  if (baseline_s > 0.0) {
    columns.push_back({{.name = "speedup", .unit = Unit::kRatio},
                       [=](const Step& s) { return baseline_s / s.time_s(); }});
  }
  return columns;
}

}  // namespace

text::Sheet training_sheet(const record::Report& report, const Summaries& all) {
  const auto forward = whole(all, "matmul");
  const auto back = whole(all, "backward");
  const std::string& baseline = record::baseline_of(report.settings, "backward");
  text::Sheet sheet = text::empty_sheet(columns_over(1.0));
  sheet.leading = 2;
  record::Cell last;
  for (const VariantSummary* f : forward) {
    const record::Cell mode = f->cell.over_all_operations();
    if (mode == last) continue;  // variants of a cell stand together
    const std::vector<Step> steps = steps_of(mode, forward, back);
    if (steps.empty()) continue;
    const bool is_new = last.over_all_tokens() != mode.over_all_tokens() || sheet.sections.empty();
    last = mode;
    if (is_new)
      sheet.sections.push_back({.title = "A training step" + cell_name(mode.over_all_tokens())});
    const auto base = std::ranges::find(steps, baseline, &Step::variant);
    const text::Columns<Step> columns = columns_over(base == steps.end() ? 0.0 : base->time_s());
    for (const Step& step : steps) {
      text::Row row = text::row_of(columns, step);
      row.cells.resize(sheet.columns.size());
      if (step.variant() == baseline) row.mark = kBaselineMark;
      if (step.forward->reference_line) row.mark = kReferenceMark;
      sheet.sections.back().rows.push_back(std::move(row));
    }
  }
  return sheet;
}

}  // namespace nf4bench::report
