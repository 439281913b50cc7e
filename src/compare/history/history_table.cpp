#include "base/text.hpp"
#include "compare/history/history_text.hpp"
#include "text/layout.hpp"
#include "text/units.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace nf4bench::compare {
namespace {

bool is_changed_section(const text::Section& section) {
  return std::ranges::any_of(section.rows,
                             [](const text::Row& row) { return row.tone != text::Tone::kPlain; });
}

// `name` says which device it is.
void append_device(text::Page& page, const HistoryDevice& device, const std::string& name,
                   Metric metric, Shown shown) {
  page.line(fmt::format("{}: {}, {} to {}", name,
                        text::format_count(static_cast<long long>(device.runs.size()), "run"),
                        run_text(device.runs.front()), run_text(device.runs.back())),
            text::Tone::kHeading);
  const auto changed = std::ranges::count_if(
      device.series, [&](const HistorySeries& series) { return has_changed(series, device); });
  page.line(fmt::format("{} of {} changed", changed,
                        text::format_count(static_cast<long long>(device.series.size()), "cell")),
            text::Tone::kHeading);
  page.paragraph(
      fmt::format("{}; steps of {} % or more that last for {} runs or more; "
                  "run-to-run noise {} % ({})",
                  to_string(metric), text::format_percent(device.threshold), kShortestLevel,
                  text::format_percent(device.noise.relative), device.noise.origin),
      0, text::Tone::kFaint);
  for (const HistoryRun& run : device.runs) {
    if (!run.complete)
      page.paragraph(fmt::format("incomplete: {}", escaped(run.name)), 2, text::Tone::kDoubt);
  }
  text::Sheet sheet = series_sheet(device, metric, shown);
  std::stable_partition(sheet.sections.begin(), sheet.sections.end(), is_changed_section);
  page.table(sheet);
}

}  // namespace

std::string history_table(const History& history, Shown shown, const text::Style& style) {
  text::Page page(style);
  for (std::size_t i = 0; i < history.devices.size(); ++i) {
    if (i > 0) page.blank();
    const HistoryDevice& device = history.devices[i];
    std::string name = text::fitted(device.device, 50);
    if (history.devices.size() > 1) name += " " + text::fitted(device.unit, 50);
    append_device(page, device, name, history.metric, shown);
  }
  return page.take();
}

}  // namespace nf4bench::compare
