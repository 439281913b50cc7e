#include "report/findings.hpp"
#include "report/ranking.hpp"
#include "report/report.hpp"
#include "report/tables.hpp"
#include "text/units.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace nf4bench::report {
namespace {

void add_if(std::vector<std::string>& facts, const std::string& label, const std::string& value) {
  if (!value.empty()) facts.push_back(label + text::fitted(value, 60));
}

std::string device_facts(const record::DeviceInfo& device) {
  std::vector<std::string> facts;
  add_if(facts, "driver ", device.driver);
  add_if(facts, "CUDA runtime ", device.runtime);
  const int capability = device.compute_capability;
  if (capability > 0) {
    facts.push_back(fmt::format("compute capability {}.{}", capability / 10, capability % 10));
  } else {
    facts.push_back(text::format_count(device.multiprocessors, "thread"));
  }
  add_if(facts, "SIMD ", device.simd);
  if (device.ecc) facts.push_back(*device.ecc ? "ECC on" : "ECC off");
  if (device.mig.value_or(false)) facts.push_back("a MIG slice");
  return fmt::format("{}", fmt::join(facts, ", "));
}

std::string state_facts(const record::DeviceState& state) {
  std::vector<std::string> facts;
  if (state.sm_clock_hz && state.max_sm_clock_hz) {
    facts.push_back(fmt::format("SM clock {:.0f} of {:.0f} MHz", *state.sm_clock_hz / 1e6,
                                *state.max_sm_clock_hz / 1e6));
  }
  if (state.memory_clock_hz) {
    facts.push_back(fmt::format("memory clock {:.0f} MHz", *state.memory_clock_hz / 1e6));
  }
  if (state.temperature_c) facts.push_back(fmt::format("{:.0f} C", *state.temperature_c));
  if (state.power_w && state.power_limit_w) {
    facts.push_back(fmt::format("{:.0f} of {:.0f} W", *state.power_w, *state.power_limit_w));
  }
  for (const std::string& reason : state.throttle_reasons) {
    facts.push_back("throttled: " + text::fitted(reason, 60));
  }
  return fmt::format("{}", fmt::join(facts, ", "));
}

std::string ceiling_facts(const record::Report& report) {
  std::vector<std::string> facts;
  const auto add = [&](const char* label, double rate) {
    if (rate > 0.0) facts.push_back(fmt::format("{} {} GB/s", label, text::format_gigabytes(rate)));
  };
  add("copy", report.ceilings.copy_bytes_per_s);
  add("write", report.ceilings.write_bytes_per_s);
  add("memory peak", report.device.peak_bytes_per_s.value_or(0.0));
  for (const auto& [type, rate] : report.ceilings.flops_per_s) {
    facts.push_back(
        fmt::format("{} product {} TFLOP/s", short_name(type), text::format_tera(rate)));
  }
  return fmt::format("{}", fmt::join(facts, ", "));
}

void append_preamble(text::Page& page, const record::Report& report) {
  page.heading(fmt::format("{} ({})", text::fitted(report.device.name, 48),
                           text::fitted(report.device.id, 16)),
               fmt::format("nf4bench {}  {}", text::fitted(report.tool.version, 20),
                           text::fitted(report.started_at, 20)));
  page.paragraph(device_facts(report.device), 2);
  page.paragraph(state_facts(report.state_after.value_or(report.state_before)), 2);
  page.paragraph(ceiling_facts(report), 2);
  if (!report.complete) {
    page.paragraph("INCOMPLETE: the run did not finish. This is what it had measured.", 0,
                   text::Tone::kDoubt);
  }
}

// How outputs were compared.
std::string rule_of(const record::Report& report) {
  const auto is_inexact = [](const record::Measurement& m) { return m.cell.tokens > 0; };
  const std::vector<record::Measurement>& rows = report.measurements;
  if (std::ranges::none_of(rows, is_inexact)) return "bit for bit";
  const std::string products = "products to what rounding explains";
  const bool are_all = std::ranges::all_of(rows, is_inexact);
  return are_all ? products : "weights bit for bit, " + products;
}

void append_outcome(text::Page& page, const record::Report& report) {
  const auto count = [&](record::Status status) {
    return std::ranges::count(report.measurements, status, &record::Measurement::status);
  };
  const auto failed = count(record::Status::kFailed);
  const auto invalid = count(record::Status::kInvalid);
  std::string text = fmt::format("{}: {} passed",
                                 text::format_count(std::ssize(report.measurements), "measurement"),
                                 count(record::Status::kPassed));
  if (failed > 0) text += fmt::format(", {} FAILED", failed);
  if (invalid > 0) text += fmt::format(", {} INVALID", invalid);
  if (const auto skipped = count(record::Status::kSkipped))
    text += fmt::format(", {} skipped", skipped);
  text += fmt::format(". {} compared with the reference, {}.",
                      text::format_count(report.tensors_verified, "tensor"), rule_of(report));
  page.blank();
  page.paragraph(text, 0, failed + invalid > 0 ? text::Tone::kBad : text::Tone::kPlain);
  for (const std::string& finding : company_findings(report)) {
    page.paragraph("company: " + text::fitted(finding, 400), 2, text::Tone::kDoubt);
  }
  for (const std::string& finding : why_findings(report)) {
    page.paragraph("why: " + text::fitted(finding, 400), 2);
  }
  for (const std::string& warning : report.warnings) {
    page.paragraph("warning: " + text::fitted(warning, 400), 2, text::Tone::kDoubt);
  }
}

}  // namespace

std::string doubt_of_times(const record::Report& report) {
  const auto is_disturbed = [](const record::Measurement& m) {
    return is_timed(m) && m.load && m.load->disturbed;
  };
  if (std::ranges::none_of(report.measurements, is_disturbed)) return "";
  return "Busy machine: other programs ran while times were taken, so these are too long by what "
         "nobody knows. Speedups hold: they are ratios of calls of the same round, and decide "
         "which "
         "variant is the fastest.";
}

std::string to_table(const record::Report& report, const text::Style& style) {
  text::Page page(style);
  append_preamble(page, report);
  page.paragraph(doubt_of_times(report), 0, text::Tone::kDoubt);
  for (const text::Sheet& sheet : result_sheets(report)) page.table(sheet);
  const Summaries all = summarize_variants(report);
  for (const text::Sheet& sheet : model_sheets(report, all)) page.table(sheet);
  page.table(training_sheet(report, all));
  page.table(crossover_sheet(report));
  append_outcome(page, report);
  return page.take();
}

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
