#include "exports/html_kit.hpp"

#include "base/sha256.hpp"

#include <fmt/format.h>

#include <span>

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
std::string policy(const std::string& style) {
  return fmt::format(
      "default-src 'none'; style-src {}; script-src {}; base-uri 'none'; "
      "form-action 'none'",
      source_of(style), source_of(kPageScript));
}

}  // namespace

std::string html_document(const HtmlDocument& document) {
  std::string text = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head><meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"{}\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<title>{}</title>\n<style>{}</style></head>\n<body>\n",
      policy(document.style), document.title, document.style);
  text += document.body;
  if (document.has_script) text += fmt::format("<script>{}</script>\n", kPageScript);
  return text + "</body>\n</html>\n";
}

}  // namespace nf4bench::exports
