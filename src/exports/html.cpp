#include "exports/export.hpp"
#include "exports/html_parts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace nf4bench::exports {
namespace {

// What was measured.
const char* subject_of(const record::Report& report) {
  const auto& rows = report.measurements;
  const auto has_tokens = [](const record::Measurement& m) { return m.cell.tokens > 0; };
  if (std::ranges::none_of(rows, has_tokens)) return "dequantization";
  return std::ranges::all_of(rows, has_tokens) ? "matrix products"
                                               : "dequantization and matrix products";
}

// Links to the sections that are there.
std::string links_to(const std::string& sections) {
  std::string text = "<nav>";
  for (const auto& [id, name] :
       {std::pair("speedup", "Speedup"), std::pair("bandwidth", "Bandwidth"),
        std::pair("tokens", "Tokens"), std::pair("samples", "Samples"),
        std::pair("totals", "Whole model"), std::pair("environment", "Environment"),
        std::pair("method", "Method"), std::pair("rows", "Measurements")}) {
    if (sections.find(fmt::format("<section id=\"{}\">", id)) == std::string::npos) continue;
    text += fmt::format("<a href=\"#{}\">{}</a>", id, name);
  }
  return text + "</nav>";
}

std::string header_of(const record::Report& report, const std::string& sections) {
  std::string text =
      fmt::format("<header><h1>{}</h1><p class=\"faint\">NF4 {}, nf4bench {}, {}</p>\n",
                  html_text(report.device.name), subject_of(report), html_text(report.tool.version),
                  html_text(report.started_at));
  if (!report.complete) {
    text +=
        "<p class=\"warning\">Incomplete: the run did not finish. This is what it had "
        "measured.</p>\n";
  }
  for (const std::string& warning : report.warnings) {
    text += fmt::format("<p class=\"warning\">{}</p>\n", html_text(warning));
  }
  return text + links_to(sections) + "</header>\n";
}

}  // namespace

void to_html(const record::Report& report, const json::TextSink& sink) {
  const Page page = page_of(report);
  std::string sections;
  if (!page.rows.empty()) {
    sections = speedup_section(page) + bandwidth_section(page) + tokens_section(page) +
               samples_section(page) + totals_section(page);
  }
  sections += environment_section(page) + method_section(page) + rows_section(page);
  sink(html_document({.title = "nf4bench: " + html_text(report.device.name),
                      .style = kPageStyle,
                      .body = header_of(report, sections) + sections,
                      .has_script = !page.rows.empty()}));
}

}  // namespace nf4bench::exports
