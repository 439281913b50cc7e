#include "base/sha256.hpp"
#include "exports/export.hpp"
#include "exports/html_parts.hpp"

#include <fmt/format.h>

#include <span>
#include <string_view>

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

std::string header_of(const record::Report& report) {
  std::string text = fmt::format(
      "<header><h1>{}</h1><p class=\"faint\">NF4 dequantization, nf4bench {}, {}</p>\n",
      html_text(report.device.name), html_text(report.tool.version), html_text(report.started_at));
  if (!report.complete) {
    text +=
        "<p class=\"warning\">Incomplete: the run did not finish. This is what it had "
        "measured.</p>\n";
  }
  for (const std::string& warning : report.warnings) {
    text += fmt::format("<p class=\"warning\">{}</p>\n", html_text(warning));
  }
  return text +
         "<nav><a href=\"#speedup\">Speedup</a><a href=\"#bandwidth\">Bandwidth</a>"
         "<a href=\"#samples\">Samples</a><a href=\"#totals\">Whole model</a>"
         "<a href=\"#environment\">Environment</a><a href=\"#method\">Method</a>"
         "<a href=\"#rows\">Measurements</a></nav></header>\n";
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
  text += header_of(report);
  if (!page.rows.empty()) {
    text += speedup_section(page) + bandwidth_section(page) + samples_section(page) +
            totals_section(page);
  }
  text += environment_section(page) + method_section(page) + rows_section(page);
  if (!page.rows.empty()) text += fmt::format("<script>{}</script>\n", kPageScript);
  sink(text + "</body>\n</html>\n");
}

}  // namespace nf4bench::exports
