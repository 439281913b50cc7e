#include "base/sha256.hpp"
#include "exports/export.hpp"
#include "exports/html_parts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <string_view>
#include <utility>

namespace nf4bench::exports {
namespace {

// How a policy names the very text of a <style> or <script>: "'sha256-...'", in base64.
std::string source_of(std::string_view text) {
  Sha256 hash;
  hash.update(std::as_bytes(std::span(text)));
  return fmt::format("'sha256-{}'", hash.base64());
}

// The page may load nothing and run nothing but its own script, whatever a report smuggles in. No
// hash allows a style attribute, so the page has none.
std::string policy() {
  return fmt::format(
      "default-src 'none'; style-src {}; script-src {}; base-uri 'none'; "
      "form-action 'none'",
      source_of(kPageStyle), source_of(kPageScript));
}

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
  std::string text = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head><meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"{}\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<title>nf4bench: {}</title>\n<style>{}</style></head>\n<body>\n",
      policy(), html_text(report.device.name), kPageStyle);
  std::string sections;
  if (!page.rows.empty()) {
    sections = speedup_section(page) + bandwidth_section(page) + tokens_section(page) +
               samples_section(page) + totals_section(page);
  }
  sections += environment_section(page) + method_section(page) + rows_section(page);
  text += header_of(report, sections) + sections;
  if (!page.rows.empty()) text += fmt::format("<script>{}</script>\n", kPageScript);
  sink(text + "</body>\n</html>\n");
}

}  // namespace nf4bench::exports
