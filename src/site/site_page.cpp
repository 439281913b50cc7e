#include "json/json_text.hpp"
#include "page/page.hpp"
#include "report/host.hpp"
#include "site/site.hpp"
#include "text/document.hpp"
#include "text/printers.hpp"
#include "text/units.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <utility>

namespace nf4bench::site {
namespace {

using text::Unit;
using text::Value;

// A variant on one geometry, with any number of tokens.
struct Line {
  const Entry* first = nullptr;
  std::map<std::int64_t, const Entry*> at;  // by tokens; 0: the operation has none

  std::int64_t boards() const { return static_cast<std::int64_t>(widest().boards); }
  const Entry& widest() const {
    return *std::ranges::max_element(at, [](const auto& a, const auto& b) {
              return a.second->spread() < b.second->spread();
            })->second;
  }
  text::Value::Words builds() const {
    std::set<std::string> builds;
    for (const auto& [tokens, entry] : at) builds.insert(entry->build);
    return {builds.begin(), builds.end()};
  }
};

bool has_one_build(const Card& card) {
  return std::ranges::all_of(card.entries,
                             [&](const Entry& entry) { return entry.build == card.build; });
}

bool is_same_line(const Entry& a, const Entry& b) {
  return a.key.geometry == b.key.geometry && a.key.variant == b.key.variant;
}

// Of boards and builds only where there are several: else about() has said it.
text::Columns<Line> line_columns(const Card& card, const std::set<std::int64_t>& tokens) {
  text::Columns<Line> columns = {
      {{.name = "geometry"}, [](const Line& line) { return geometry_text(line.first->key); }},
      {{.name = "variant", .most = 40}, [](const Line& line) { return line.first->key.variant; }}};
  for (const std::int64_t count : tokens) {
    columns.push_back(
        {{.name = count == 0 ? "time" : fmt::format("{} tok", count), .unit = Unit::kSeconds},
         [count](const Line& line) {
           const auto entry = line.at.find(count);
           return entry == line.at.end() ? Value() : Value(entry->second->time_s);
         }});
  }
  const bool has_tokens = tokens.count(0) == 0;
  const text::Columns<Line> more = {
      {{.name = "speedup", .unit = Unit::kRatio},
       [=](const Line& line) {
         const auto& speedup = line.first->speedup;
         return speedup && !has_tokens ? Value(speedup->ratio) : Value();
       }},
      {{.name = "over"},
       [=](const Line& line) {
         const auto& speedup = line.first->speedup;
         return speedup && !has_tokens ? Value(speedup->baseline) : Value();
       }},
      {{.name = "GB/s", .unit = Unit::kBytesPerSecond},
       [=](const Line& line) { return has_tokens ? Value() : Value(line.first->bytes_per_s); }},
      {{.name = "of copy", .unit = Unit::kFraction},
       [=](const Line& line) {
         return has_tokens ? Value() : Value(line.first->fraction_of_copy);
       }},
      {{.name = "of stream", .unit = Unit::kFraction},
       [=](const Line& line) {
         return has_tokens ? Value() : Value(line.first->fraction_of_stream);
       }},
      {{.name = card.boards.size() > 1 ? "boards" : ""}, &Line::boards},
      {{.name = "spread", .unit = Unit::kSpread},
       [](const Line& line) { return line.widest().spread(); }},
      {{.name = has_one_build(card) ? "" : "build"}, &Line::builds}};
  columns.insert(columns.end(), more.begin(), more.end());
  return columns;
}

using Entries = std::vector<Entry>::const_iterator;

// The times of [first, last), all of one operation.
text::Sheet times_sheet(const Card& card, Entries first, const Entries last) {
  std::set<std::int64_t> tokens;
  for (Entries each = first; each != last; ++each) tokens.insert(each->key.cell.tokens);
  const text::Columns<Line> columns = line_columns(card, tokens);
  text::Sheet sheet = text::empty_sheet(columns);
  while (first != last) {
    const record::Cell mode = first->key.cell.over_all_tokens();
    text::Section& section = sheet.sections.emplace_back();
    section.title = report::cell_name(mode);
    while (first != last && first->key.cell.over_all_tokens() == mode) {
      Line line = {.first = &*first, .at = {}};
      for (; first != last && is_same_line(*first, *line.first) &&
             first->key.cell.over_all_tokens() == mode;
           ++first) {
        line.at[first->key.cell.tokens] = &*first;
      }
      section.rows.push_back(text::row_of(columns, line));
    }
  }
  return sheet;
}

// What anybody can run who has a card that is missing.
const std::vector<std::string> kCommands = {
    "nf4bench run --preset llama-3.1-8b --dtype float16,bfloat16 --anonymous --json "
    "dequantize.json",
    "nf4bench run --preset llama-3.1-8b --operation matmul --tokens 1,8,64 --anonymous --json "
    "matmul.json",
    "nf4bench check dequantize.json matmul.json"};

// Every entry of a card, for programs.
text::Sheet entries_sheet(const Card& card) {
  const text::Columns<Entry> columns = {
      {{.key = "geometry"}, [](const Entry& entry) { return geometry_text(entry.key); }},
      {{.key = "operation"}, [](const Entry& entry) { return entry.key.cell.operation; }},
      {{.key = "dtype"}, [](const Entry& entry) { return to_string(entry.key.cell.output_type); }},
      {{.key = "tokens"},
       [](const Entry& entry) {
         return entry.key.cell.tokens > 0 ? Value(entry.key.cell.tokens) : Value();
       }},
      {{.key = "cache"}, [](const Entry& entry) { return to_string(entry.key.cell.cache); }},
      {{.key = "launch"}, [](const Entry& entry) { return to_string(entry.key.cell.launch); }},
      {{.key = "variant"}, [](const Entry& entry) { return entry.key.variant; }},
      {{.key = "reference_line"}, &Entry::reference_line},
      {{.key = "time"}, &Entry::time_s},
      {{.key = "lowest"}, &Entry::lowest_s},
      {{.key = "highest"}, &Entry::highest_s},
      {{.key = "spread"}, &Entry::spread},
      {{.key = "boards"}, &Entry::boards},
      {{.key = "speedup.ratio"},
       [](const Entry& entry) { return entry.speedup ? Value(entry.speedup->ratio) : Value(); }},
      {{.key = "speedup.baseline"},
       [](const Entry& entry) { return entry.speedup ? Value(entry.speedup->baseline) : Value(); }},
      {{.key = "fraction_of_copy"}, &Entry::fraction_of_copy},
      {{.key = "build"}, &Entry::build},
      {{.key = "senders"}, &Entry::senders}};
  return text::sheet_of(columns, card.entries);
}

// The same for people: a sheet for each operation, a section for each type and mode, times by
// tokens.
std::vector<text::Sheet> times_sheets(const Card& card) {
  std::vector<text::Sheet> sheets;
  for (Entries first = card.entries.begin(); first != card.entries.end();) {
    const Entries last = std::find_if(first, card.entries.end(), [&](const Entry& entry) {
      return entry.key.cell.operation != first->key.cell.operation;
    });
    sheets.push_back(times_sheet(card, first, last));
    first = last;
  }
  return sheets;
}

// A row for each card, with the fastest of a few cells.
text::Sheet cards_sheet(const Site& site) {
  using text::Column;
  std::vector<SharedCell> shared = shared_cells(site);
  const auto words = [](const std::set<std::string>& set) {
    return Value::Words(set.begin(), set.end());
  };
  text::Columns<Card> columns = {
      {{.name = "card", .key = "name"}, &Card::name},
      {{.key = "file"}, &Card::file},
      {{.name = "boards", .key = "boards"}, [](const Card& card) { return card.boards.size(); }},
      {{.name = "reports", .key = "reports"}, &Card::reports},
      {{.name = "sent by", .key = "senders"},
       [=](const Card& card) { return words(card.senders); }},
      {{.name = "newest build", .key = "build"}, &Card::build},
      {{.name = "newest report", .key = "newest_at"}, &Card::newest_at},
      {{.name = "copy", .unit = Unit::kBytesPerSecond, .key = "copy_bytes_per_s"},
       &Card::copy_bytes_per_s},
      {{.key = "fastest"}, [shared](const Card& card) {
         return json::json_array_of(shared, [&](const SharedCell& cell) {
           const auto found = cell.fastest_s.find(card.name);
           return found == cell.fastest_s.end() ? json::json_null()
                                                : json::json_number(found->second);
         });
       }}};
  for (SharedCell& cell : shared) {
    columns.push_back({Column{.name = cell.name, .unit = Unit::kSeconds},
                       [fastest = std::move(cell.fastest_s)](const Card& card) {
                         const auto found = fastest.find(card.name);
                         return found == fastest.end() ? Value() : Value(found->second);
                       }});
  }
  return text::sheet_of(columns, site.cards);
}

text::Sheet left_out_sheet(const Site& site) {
  return text::sheet_of(
      text::Columns<LeftOut>{{{.name = "report", .key = "report", .most = 120}, &LeftOut::report},
                             {{.name = "why", .key = "reason", .most = 300}, &LeftOut::reason}},
      site.left_out);
}

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
      {{"schema", "nf4bench.site"},
       {"about", about(site)},
       {"tool_version", report::tool_info().version},
       {"cards", text::json_rows(cards_sheet(site))},
       {"shared",
        json::json_array_of(shared_cells(site),
                            [](const SharedCell& cell) { return json::json_string(cell.name); })},
       {"commands", kCommands},
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
  const json::JsonText json = json::json_object({{"schema", "nf4bench.card"},
                                                 {"name", card.name},
                                                 {"about", about(card)},
                                                 {"rule", kRule},
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

std::string site_markdown(const Site& site) {
  text::Document document;
  for (const Card& card : site.cards) {
    std::string card_text = fmt::format("{}: {}", card.name, about(card));
    if (card.copy_bytes_per_s) {
      card_text += fmt::format("; copy {} GB/s", text::format_gigabytes(*card.copy_bytes_per_s));
    }
    document.paragraph(std::move(card_text));
    if (card.boards.size() > 1) document.paragraph(kRule);
    for (text::Sheet& sheet : times_sheets(card)) document.table(std::move(sheet));
  }
  return text::markdown(document);
}

}  // namespace nf4bench::site
