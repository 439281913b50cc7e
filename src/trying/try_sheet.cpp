#include "trying/try_sheet.hpp"

#include "report/report.hpp"
#include "text/sheet.hpp"
#include "trying/ranking.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <set>
#include <utility>

namespace nf4bench::trying {
namespace {

using text::Unit;

constexpr std::size_t kMostErrors = 10;

std::string name_of(const TriedCell& cell) {
  std::string words = cell.operation == record::kDequantize ? "" : cell.operation + ' ';
  if (!cell.variant.empty()) words += cell.variant + ' ';
  words +=
      fmt::format("{} {}", nf4::shape_to_string(cell.shape), report::short_name(cell.output_type));
  return cell.tokens > 0 ? words + fmt::format(" x{}", cell.tokens) : words;
}

// Half of an interval over the middle.
text::Value spread_of(const TriedCell& cell) {
  if (!cell.ci95 || !cell.median_s) return {};
  return (cell.ci95->high - cell.ci95->low) / 2.0 / *cell.median_s;
}

template <typename Item>
text::ColumnOf<Item> column(const char* name, Unit unit,
                            std::function<text::Value(const Item&)> of) {
  return {{.name = name, .unit = unit}, std::move(of)};
}

text::Columns<TriedCell> cell_columns() {
  const auto ratio = [](std::optional<Against> TriedCell::*other) {
    return [other](const TriedCell& c) {
      return c.*other ? text::Value((c.*other)->ratio) : text::Value();
    };
  };
  return {
      column<TriedCell>("problem", Unit::kNone, [](const auto& c) { return name_of(c); }),
      column<TriedCell>("time", Unit::kSeconds, [](const auto& c) { return c.median_s; }),
      column<TriedCell>("+-", Unit::kSpread, spread_of),
      column<TriedCell>("rate", Unit::kBytesPerSecond, [](const auto& c) { return c.bytes_per_s; }),
      column<TriedCell>("of copy", Unit::kFraction,
                        [](const auto& c) { return c.fraction_of_copy; }),
      column<TriedCell>("of roof", Unit::kFraction,
                        [](const auto& c) { return c.fraction_of_roof; }),
      column<TriedCell>("vs fastest", Unit::kRatio, ratio(&TriedCell::fastest)),
      column<TriedCell>("vs baseline", Unit::kRatio, ratio(&TriedCell::baseline)),
      column<TriedCell>("vs last", Unit::kRatio, ratio(&TriedCell::last))};
}

std::string legend_of(const Attempt& attempt) {
  for (const TriedCell& cell : attempt.cells) {
    if (!cell.fastest) continue;
    const std::string baseline =
        cell.baseline ? "baseline: " + cell.baseline->variant : "no baseline could run here";
    const std::string last = cell.last ? fmt::format(", last: try {}", attempt.last) : "";
    return fmt::format("fastest: {}, {}{}; above 1 this kernel is faster", cell.fastest->variant,
                       baseline, last);
  }
  return "";
}

// What its machine code has.
std::string kernel_text(const TriedCell& cell, const peer::KernelFacts& k) {
  const std::string& own = k.name.empty() ? cell.variant : k.name;
  std::string words = own.empty() ? "kernel" : "kernel " + own;
  words += fmt::format(": {} registers", k.registers);
  if (k.launch && k.launch->occupancy)
    words += fmt::format(", {:.0f} % of a multiprocessor's warps", *k.launch->occupancy * 100);
  if (!k.instructions) return words;
  std::string kinds;
  fields(*k.instructions, [&](const char* name, const double& count) {
    const bool is_all = &count == &k.instructions->issued;
    if (!is_all && count > 0.0) kinds += fmt::format(", {} {:.2f}", name, count);
  });
  return words + fmt::format(", {:.2f} instructions an element ({})", k.instructions->issued,
                             kinds.empty() ? "no pipe" : kinds.substr(2));
}

text::Section section_of(const Attempt& attempt, const text::Columns<TriedCell>& columns) {
  text::Section section;
  section.title = fmt::format("{}  {}", attempt.file, to_string(attempt.status));
  section.aside = attempt.device;
  for (const TriedCell& cell : attempt.cells) {
    text::Row row = text::row_of(columns, cell);
    if (cell.status != Status::kOk) {
      row.message = fmt::format("{}: {}", to_string(cell.status), cell.reason);
      row.tone = text::Tone::kBad;
    }
    section.rows.push_back(std::move(row));
  }
  return section;
}

std::string place_of(const peer::Diagnostic& found) {
  std::string place = found.file;
  if (found.line > 0) place += fmt::format(":{}", found.line);
  if (found.column > 0) place += fmt::format(":{}", found.column);
  return place.empty() ? "" : place + ": ";
}

std::string finding_text(const SanitizerFinding& finding) {
  std::string words = fmt::format("{}: {}", finding.tool, finding.kind);
  if (!finding.kernel.empty()) words += " in " + finding.kernel;
  if (!finding.file.empty()) words += fmt::format(" at {}:{}", finding.file, finding.line);
  if (!finding.thread.empty()) words += fmt::format(", thread {}", finding.thread);
  if (!finding.block.empty()) words += fmt::format(" of block {}", finding.block);
  if (!finding.address.empty()) words += fmt::format(", address {}", finding.address);
  return finding.times > 1 ? words + fmt::format(" ({} times)", finding.times) : words;
}

void tell(const Sanitized& sanitized, text::Page& page) {
  for (const SanitizerFinding& finding : sanitized.findings) {
    page.paragraph(finding_text(finding), 2, text::Tone::kBad);
  }
  if (!sanitized.problem.empty()) page.paragraph(sanitized.problem, 2, text::Tone::kDoubt);
  if (sanitized.findings.empty() && sanitized.problem.empty()) {
    page.paragraph("compute-sanitizer: nothing found by memcheck, racecheck, initcheck, synccheck",
                   2);
  }
}

// What limits each, and why some were not counted, each reason once.
void tell_why(const Attempt& attempt, text::Page& page) {
  std::set<std::string> reasons;
  for (const TriedCell& cell : attempt.cells) {
    if (!cell.counters) continue;
    if (cell.counters->kernels == 0) {
      reasons.insert(cell.counters->unavailable);
    } else {
      page.paragraph(fmt::format("{}: {}", name_of(cell), text_of(*cell.counters)), 2);
    }
  }
  for (const std::string& reason : reasons) {
    page.paragraph("not counted: " + reason, 2, text::Tone::kDoubt);
  }
}

std::string interval_of(const Overall& overall) {
  if (!overall.ci95) return "";
  return fmt::format("[{:.3f}, {:.3f}]", overall.ci95->low, overall.ci95->high);
}

text::Columns<Ranked> ranked_columns() {
  return {
      column<Ranked>("place", Unit::kNone,
                     [](const Ranked& r) {
                       return r.best == r.worst ? fmt::format("{}", r.best)
                                                : fmt::format("{}-{}", r.best, r.worst);
                     }),
      column<Ranked>("try", Unit::kNone, [](const Ranked& r) { return r.attempt->id; }),
      column<Ranked>("at", Unit::kNone, [](const Ranked& r) { return r.attempt->at; }),
      column<Ranked>("vs baseline", Unit::kRatio, [](const Ranked& r) { return r.speedup.ratio; }),
      column<Ranked>("95 %", Unit::kNone,
                     [](const Ranked& r) { return text::if_said(interval_of(r.speedup)); }),
      column<Ranked>("vs fastest", Unit::kRatio,
                     [](const Ranked& r) {
                       const auto all = overall(*r.attempt, &TriedCell::fastest);
                       return all ? text::Value(all->ratio) : text::Value();
                     }),
      column<Ranked>("file", Unit::kNone, [](const Ranked& r) { return r.attempt->file; })};
}

}  // namespace

std::string to_text(const Attempt& attempt, const text::Style& style) {
  text::Page page(style);
  if (attempt.cells.empty()) {
    page.heading(fmt::format("{}  {}", attempt.file, to_string(attempt.status)), attempt.device);
    for (std::size_t i = 0; i < attempt.errors.size() && i < kMostErrors; ++i) {
      page.paragraph(place_of(attempt.errors[i]) + attempt.errors[i].message, 2, text::Tone::kBad);
    }
    if (attempt.errors.empty()) page.paragraph(attempt.reason, 2, text::Tone::kBad);
    if (attempt.sanitizer) tell(*attempt.sanitizer, page);
    return page.take();
  }
  const text::Columns<TriedCell> columns = cell_columns();
  text::Sheet sheet = text::empty_sheet(columns);
  sheet.sections.push_back(section_of(attempt, columns));
  if (const std::string legend = legend_of(attempt); !legend.empty()) {
    sheet.legend.push_back(legend);
  }
  page.table(sheet);
  if (std::ranges::any_of(attempt.cells, &TriedCell::disturbed)) {
    page.paragraph(
        "Busy machine: other programs ran while it was timed, so times are too long by what nobody "
        "knows. Ratios hold: they are of calls of the same round.",
        2, text::Tone::kDoubt);
  }
  std::set<std::string> kernels;
  for (const TriedCell& cell : attempt.cells) {
    if (cell.kernel) kernels.insert(kernel_text(cell, *cell.kernel));
    for (const peer::KernelFacts& each : cell.kernels) kernels.insert(kernel_text(cell, each));
  }
  for (const std::string& kernel : kernels) page.paragraph(kernel, 2, text::Tone::kFaint);
  tell_why(attempt, page);
  std::set<std::string> hints;
  for (const TriedCell& cell : attempt.cells) hints.insert(cell.hint);
  for (const std::string& hint : hints) {
    if (!hint.empty()) page.paragraph("hint: " + hint, 2);
  }
  const bool is_told =
      std::ranges::any_of(attempt.cells, [&](const auto& c) { return c.reason == attempt.reason; });
  if (!is_told) page.paragraph(attempt.reason, 2, text::Tone::kBad);
  if (attempt.sanitizer) tell(*attempt.sanitizer, page);
  return page.take();
}

std::string ranking_text(const std::vector<Attempt>& attempts, const text::Style& style) {
  std::vector<const Attempt*> failed;
  const std::vector<Group> groups = rank(attempts, failed);
  const text::Columns<Ranked> columns = ranked_columns();
  text::Sheet sheet = text::empty_sheet(columns);
  for (const Group& group : groups) {
    text::Section& section = sheet.sections.emplace_back();
    section.title = group.device;
    section.note = group.cells;
    for (const Ranked& each : group.ranked) section.rows.push_back(text::row_of(columns, each));
  }
  text::Page page(style);
  if (!groups.empty()) page.table(sheet);
  for (const Attempt* attempt : failed) {
    const bool is_ok = attempt->status == Status::kOk;
    page.paragraph(
        fmt::format("{}  {}  {}  {}: {}", attempt->id, attempt->at, attempt->file,
                    to_string(attempt->status),
                    is_ok ? "no place, as no baseline was timed beside it" : attempt->reason),
        2, text::Tone::kFaint);
  }
  return page.take();
}

}  // namespace nf4bench::trying
