#include "exports/html_parts.hpp"

#include "base/text.hpp"
#include "report/table/parts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

namespace nf4bench::exports {
namespace {

constexpr std::string_view kReplacement = "\xef\xbf\xbd";  // U+FFFD
constexpr std::size_t kColours = 12;

std::string_view entity_of(char c) {
  switch (c) {
    case '&':
      return "&amp;";
    case '<':
      return "&lt;";
    case '>':
      return "&gt;";
    case '"':
      return "&quot;";
    case '\'':
      return "&#39;";
    default:
      return {};
  }
}

std::string title_of(const ExportRow& row) {
  std::string title = html_text(shape_name(row));
  if (row.tensor != nullptr && row.tensor->multiplicity > 1) {
    title += fmt::format(" (x{})", row.tensor->multiplicity);
  }
  return title + " " + report::cell_name(row.measurement->cell);
}

// The baseline, then by how far a variant gets at best: what is far behind shares the last colour.
void order_variants(Page& page) {
  std::map<std::string, double> best;
  for (const ExportRow& row : page.rows) {
    const record::Measurement& m = *row.measurement;
    double& ratio = best[m.variant];
    if (row.is_timed && m.speedup) ratio = std::max(ratio, m.speedup->ratio);
  }
  best[page.report.settings.baseline] = std::numeric_limits<double>::max();
  for (const record::MeasuredOperation& each : page.report.settings.operations) {
    best[each.baseline] = std::numeric_limits<double>::max();
  }
  std::stable_sort(page.variants.begin(), page.variants.end(),
                   [&](const std::string& a, const std::string& b) { return best[a] > best[b]; });
}

}  // namespace

std::string html_text(std::string_view text) {
  std::string safe;
  while (!text.empty()) {
    const Utf8Front front = utf8_front(text);
    const bool is_safe = front.is_character && !disturbs_terminal(front.code_point);
    const std::string_view entity = entity_of(text[0]);
    safe += !is_safe ? kReplacement : entity.empty() ? text.substr(0, front.length) : entity;
    text.remove_prefix(front.length);
  }
  return safe;
}

std::string coordinate(double value) {
  std::string text = fmt::format("{:.2f}", value);
  while (text.back() == '0') text.pop_back();
  if (text.back() == '.') text.pop_back();
  return text;
}

bool Page::has_tokens() const {
  return std::ranges::any_of(rows,
                             [](const ExportRow& row) { return row.measurement->cell.tokens > 0; });
}

std::string Page::colour_of(const std::string& variant) const {
  const auto found = std::find(variants.begin(), variants.end(), variant);
  const auto index = static_cast<std::size_t>(found - variants.begin());
  return fmt::format("s{}", std::min(index, kColours));
}

Page page_of(const record::Report& report) {
  Page page{report, export_rows(report), {}, {}};
  for (std::size_t i = 0; i < page.rows.size(); ++i) {
    const ExportRow& row = page.rows[i];
    const std::string& variant = row.measurement->variant;
    if (std::find(page.variants.begin(), page.variants.end(), variant) == page.variants.end()) {
      page.variants.push_back(variant);
    }
    const auto cell = std::find_if(page.cells.begin(), page.cells.end(), [&](const PageCell& c) {
      return page.rows[c.rows.front()].measurement->cell == row.measurement->cell;
    });
    if (cell == page.cells.end()) {
      page.cells.push_back({title_of(row), {i}});
    } else {
      cell->rows.push_back(i);
    }
  }
  order_variants(page);
  return page;
}

std::string anchor_of(std::size_t row) {
  return fmt::format("m{}", row);
}

std::vector<double> round_ticks(double most, int count) {
  if (!(most > 0.0) || !std::isfinite(most)) return {0.0, 1.0};
  const double rough = most / count;
  const double power = std::pow(10.0, std::floor(std::log10(rough)));
  double step = 10.0 * power;
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= rough) {
      step = factor * power;
      break;
    }
  }
  std::vector<double> ticks;
  const auto steps = static_cast<int>(std::ceil(most / step - 1e-9));
  for (int i = 0; i <= steps; ++i) ticks.push_back(step * i);
  return ticks;
}

}  // namespace nf4bench::exports
