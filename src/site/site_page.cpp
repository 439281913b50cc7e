#include "site/site_page.hpp"

#include "json/json_text.hpp"
#include "page/page.hpp"
#include "report/tool.hpp"
#include "site/site_sheets.hpp"
#include "text/document.hpp"
#include "text/printers.hpp"
#include "text/units.hpp"

#include <fmt/format.h>

#include <iterator>

namespace nf4bench::site {
namespace {

// What anybody can run who has a card that is missing.
const std::vector<std::string> kCommands = {
    "nf4bench run --preset llama-3.1-8b --dtype float16,bfloat16 --anonymous --json "
    "dequantize.json",
    "nf4bench run --preset llama-3.1-8b --operation matmul --tokens 1,8,64 --anonymous --json "
    "matmul.json",
    "nf4bench check dequantize.json matmul.json"};

std::string about(const Site& site) {
  std::size_t reports = 0;
  for (const Card& card : site.cards) reports += card.reports;
  return fmt::format("{} of {}", text::format_count(static_cast<long long>(reports), "report"),
                     text::format_count(std::ssize(site.cards), "card"));
}

std::string about(const Card& card) {
  return fmt::format("{} of {}, the newest of {} with build {}",
                     text::format_count(static_cast<long long>(card.reports), "report"),
                     text::format_count(std::ssize(card.boards), "board"),
                     card.newest_at.substr(0, 10), card.build);
}

constexpr char kRule[] =
    "Each time is the median over boards, by the newest build that measured the cell there; spread "
    "is how much longer the slowest board takes than the fastest.";

std::string links(const Site& site) {
  std::string text;
  for (const Card& card : site.cards) {
    text += fmt::format("<p><a href=\"{}\">{}</a></p>\n", card.file, text::in_html(card.name));
  }
  return text;
}

std::string index_page(const Site& site) {
  text::Document document;
  document.title("nf4bench: results");
  document.paragraph(about(site));
  document.table(cards_sheet(site));
  document.heading("Add a card");
  for (const std::string& command : kCommands) document.paragraph(command);
  if (!site.left_out.empty()) document.heading("Left out");
  document.table(left_out_sheet(site));
  const json::JsonText json = json::json_object(
      {{"schema", json::json_string("nf4bench.site")},
       {"about", json::json_string(about(site))},
       {"tool_version", json::json_string(report::tool_info().version)},
       {"cards", text::json_rows(cards_sheet(site))},
       {"shared",
        json::json_array_of(shared_cells(site),
                            [](const SharedCell& cell) { return json::json_string(cell.name); })},
       {"commands", json::json_strings(kCommands)},
       {"left_out", text::json_rows(left_out_sheet(site))}});
  return page::page_text(
      {.title = "results", .json = json.text, .tables = text::html(document) + links(site)});
}

std::string card_page(const Card& card) {
  text::Document document;
  document.title("nf4bench: " + card.name);
  document.paragraph(about(card));
  document.paragraph(kRule);
  for (text::Sheet& sheet : times_sheets(card)) document.table(std::move(sheet));
  const json::JsonText json = json::json_object({{"schema", json::json_string("nf4bench.card")},
                                                 {"name", json::json_string(card.name)},
                                                 {"about", json::json_string(about(card))},
                                                 {"rule", json::json_string(kRule)},
                                                 {"rows", text::json_rows(entries_sheet(card))}});
  return page::page_text(
      {.title = card.name,
       .json = json.text,
       .tables = text::html(document) + "<p><a href=\"index.html\">all cards</a></p>\n"});
}

}  // namespace

std::vector<File> site_files(const Site& site) {
  std::vector<File> files = {{"index.html", index_page(site)}};
  for (const Card& card : site.cards) files.push_back({card.file, card_page(card)});
  return files;
}

}  // namespace nf4bench::site
