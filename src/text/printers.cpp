#include "text/printers.hpp"

#include "base/text.hpp"
#include "base/words.hpp"
#include "text/layout.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace nf4bench::text {
namespace {

constexpr Word<Tone> kClasses[] = {
    {Tone::kGood, "good"}, {Tone::kBad, "bad"}, {Tone::kDoubt, "doubt"}, {Tone::kFaint, "faint"}};

// Whether a spreadsheet would take `text` for a formula, blanks before it or not. The last four are
// = + - @ in full width, which some take for the same.
bool is_formula(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  constexpr std::array<std::string_view, 8> kBeginnings = {"=",      "+",      "-",      "@",
                                                           "\uff1d", "\uff0b", "\uff0d", "\uff20"};
  return std::ranges::any_of(kBeginnings,
                             [&](std::string_view each) { return text.starts_with(each); });
}

json::JsonText json_of(const Value& value) {
  struct Writer {
    json::JsonText operator()(std::monostate) const { return json::json_null(); }
    json::JsonText operator()(const std::string& text) const { return json::json_string(text); }
    json::JsonText operator()(std::int64_t count) const { return json::json_integer(count); }
    json::JsonText operator()(double number) const { return json::json_number(number); }
    json::JsonText operator()(bool fact) const { return json::json_bool(fact); }
    json::JsonText operator()(const statistics::Interval& interval) const {
      const double ends[] = {interval.low, interval.high};
      return json::json_numbers(ends);
    }
    json::JsonText operator()(const Value::Shape& shape) const {
      return json::json_integers(shape);
    }
    json::JsonText operator()(const Value::Words& words) const { return json::json_strings(words); }
    json::JsonText operator()(const json::JsonText& text) const { return text; }
  };
  return std::visit(Writer(), value.kind());
}

// What stands in a field of CSV: numbers as JSON has them, everything else as text.
std::string csv_of(const Value& value) {
  if (!value.is_known()) return "";
  if (const auto* text = std::get_if<std::string>(&value.kind())) return in_csv(*text);
  std::string json = json_of(value).text;
  return value.is_number() ? (json == "null" ? "" : json) : in_csv(json);
}

// The object of a row's values from `first` on whose keys begin with `prefix`; null when it is one
// within another, of which nothing is known. `first` then is behind them.
json::JsonText object_of(const std::vector<Column>& columns, const Row& row, std::size_t& first,
                         const std::string& prefix, json::JsonLayout layout) {
  std::vector<json::JsonMember> members;
  bool is_known = prefix.empty();
  while (first < columns.size()) {
    const std::string_view key = columns[first].key;
    if (!key.empty() && !key.starts_with(prefix)) break;
    const std::string_view name = key.substr(std::min(prefix.size(), key.size()));
    const std::size_t dot = name.find('.');
    if (dot != std::string_view::npos) {
      const std::string inner(key.substr(0, prefix.size() + dot + 1));
      members.push_back({name.substr(0, dot), object_of(columns, row, first, inner, layout)});
      continue;
    }
    if (!name.empty()) {
      is_known = is_known || row.cells[first].is_known();
      members.push_back({name, json_of(row.cells[first])});
    }
    ++first;
  }
  return is_known ? json::json_object(members, layout) : json::json_null();
}

// The texts of a row in the shown columns, a message in the first one that gives way to it.
std::vector<std::string> shown_cells(const Sheet& sheet, const Layout& layout, const Row& row,
                                     const std::vector<std::string>& texts) {
  std::vector<std::string> cells;
  bool is_said = row.message.empty();
  for (std::size_t i = 0; i < layout.widths.size(); ++i) {
    if (layout.widths[i] == 0) continue;
    const bool is_text = row.message.empty() || i < sheet.leading;
    cells.push_back(is_text ? texts[i] : is_said ? "" : row.message);
    is_said = is_said || !is_text;
  }
  if (!is_said) cells.back() += ": " + row.message;
  return cells;
}

bool has_why(const Section& section) {
  return std::ranges::any_of(section.rows, [](const Row& row) { return !row.why.empty(); });
}

std::string markdown_row(const std::vector<std::string>& cells, Tone tone) {
  std::string text = "|";
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const char* mark = i == 0 && tone == Tone::kBad ? "**" : "";
    text += fmt::format(" {}{}{} |", mark, in_markdown(cells[i]), mark);
  }
  return text + '\n';
}

std::string markdown_head(const Sheet& sheet, const Layout& layout, bool says_why) {
  std::vector<std::string> names;
  std::string rule = "|";
  for (std::size_t i = 0; i < layout.widths.size(); ++i) {
    if (layout.widths[i] == 0) continue;
    names.push_back(sheet.columns[i].name);
    rule += layout.has_numbers[i] ? " ---: |" : " --- |";
  }
  if (says_why) names.emplace_back("why");
  return markdown_row(names, Tone::kPlain) + rule + (says_why ? " --- |\n" : "\n");
}

std::string html_row(const Sheet& sheet, const Layout& layout, const Row& row,
                     const std::vector<std::string>& texts) {
  std::string text = *word_of(kClasses, row.tone) == '\0'
                         ? "<tr>"
                         : fmt::format("<tr class=\"{}\">", word_of(kClasses, row.tone));
  std::size_t shown = 0;
  const std::vector<std::string> cells = shown_cells(sheet, layout, row, texts);
  for (std::size_t i = 0; i < layout.widths.size(); ++i) {
    if (layout.widths[i] == 0) continue;
    const bool is_number = i < row.cells.size() && row.cells[i].is_number();
    text +=
        fmt::format("<td{}>{}</td>", is_number ? " class=\"number\"" : "", in_html(cells[shown++]));
  }
  text += "</tr>\n";
  if (row.why.empty()) return text;
  return text + fmt::format("<tr class=\"faint\"><td colspan=\"{}\">{}</td></tr>\n", shown,
                            in_html(row.why));
}

std::string_view entity_of(char byte) {
  switch (byte) {
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
      return "";
  }
}

}  // namespace

std::string markdown(const Sheet& sheet, int width) {
  const Layout layout = lay_out(sheet, width);
  std::string text;
  for (std::size_t s = 0; s < sheet.sections.size(); ++s) {
    const Section& section = sheet.sections[s];
    if (!section.title.empty()) text += fmt::format("\n#### {}\n", in_markdown(section.title));
    for (const std::string& each : {section.aside, section.note}) {
      if (!each.empty()) text += fmt::format("\n{}\n", in_markdown(each));
    }
    const bool says_why = has_why(section);
    text += '\n' + markdown_head(sheet, layout, says_why);
    for (std::size_t r = 0; r < section.rows.size(); ++r) {
      const Row& row = section.rows[r];
      std::vector<std::string> cells = shown_cells(sheet, layout, row, layout.texts[s][r]);
      if (says_why) cells.push_back(row.why);
      text += markdown_row(cells, row.tone);
    }
  }
  return text;
}

std::string html(const Sheet& sheet) {
  const Layout layout = lay_out(sheet, 0);
  std::string text;
  for (std::size_t s = 0; s < sheet.sections.size(); ++s) {
    const Section& section = sheet.sections[s];
    if (!section.title.empty()) text += fmt::format("<h2>{}</h2>\n", in_html(section.title));
    for (const std::string& each : {section.aside, section.note}) {
      if (!each.empty()) text += fmt::format("<p>{}</p>\n", in_html(each));
    }
    text += "<div class=\"wide\"><table>\n<thead><tr>";
    for (std::size_t i = 0; i < layout.widths.size(); ++i) {
      if (layout.widths[i] > 0) text += fmt::format("<th>{}</th>", in_html(sheet.columns[i].name));
    }
    text += "</tr></thead><tbody>\n";
    for (std::size_t r = 0; r < section.rows.size(); ++r) {
      text += html_row(sheet, layout, section.rows[r], layout.texts[s][r]);
    }
    text += "</tbody></table></div>\n";
  }
  return text;
}

std::string csv(const Sheet& sheet) {
  std::vector<std::string> fields;
  for (const Column& column : sheet.columns) {
    if (!column.key.empty()) fields.push_back(in_csv(column.key));
  }
  std::string text = fmt::format("{}\r\n", fmt::join(fields, ","));
  for (const Section& section : sheet.sections) {
    for (const Row& row : section.rows) {
      fields.clear();
      for (std::size_t i = 0; i < sheet.columns.size(); ++i) {
        if (!sheet.columns[i].key.empty()) fields.push_back(csv_of(row.cells[i]));
      }
      text += fmt::format("{}\r\n", fmt::join(fields, ","));
    }
  }
  return text;
}

json::JsonText json_rows(const Sheet& sheet, json::JsonLayout layout) {
  std::vector<json::JsonText> rows;
  for (const Section& section : sheet.sections) {
    for (const Row& row : section.rows) {
      rows.push_back(json_row(sheet.columns, row, layout));
    }
  }
  return json::json_array(rows, layout);
}

json::JsonText json_row(const std::vector<Column>& columns, const Row& row,
                        json::JsonLayout layout) {
  std::size_t first = 0;
  return object_of(columns, row, first, "", layout);
}

std::string in_markdown(std::string_view text, int width) {
  constexpr std::string_view kMarks = "\\`*_{}[]<>#|~&@";
  std::string safe;
  for (const char c : fitted(text, width)) {
    if (kMarks.find(c) != std::string_view::npos) safe += '\\';
    safe += c;
  }
  return safe;
}

std::string in_html(std::string_view text) {
  constexpr char kReplacement[] = "\xef\xbf\xbd";
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

std::string in_csv(std::string_view text) {
  std::string safe = (is_formula(text) ? "'" : "") + printable(text);
  if (safe.find_first_of(",;\"") == std::string::npos) return safe;
  std::string quoted = "\"";
  for (const char c : safe) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

std::string in_label(std::string_view text) {
  std::string label;
  for (const char c : printable(text)) {
    if (c == '"' || c == '\\') label += '\\';
    label += c;
  }
  return label;
}

}  // namespace nf4bench::text
