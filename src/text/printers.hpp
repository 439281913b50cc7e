#pragma once

// How a sheet is written where there is no terminal; page.hpp has the one for terminals.

#include "json/json_text.hpp"
#include "text/sheet.hpp"

#include <string>
#include <string_view>

namespace nf4bench::text {

// A table for each section, with the columns that a terminal of `width` columns would show. Nothing
// in the sheet is taken for markup, or mentions anybody.
std::string markdown(const Sheet& sheet, int width = 100);

// The same as elements of HTML: a <table> for each section, nothing around them.
std::string html(const Sheet& sheet);

// RFC 4180, all sections together: a line of keys, then a line for each row. No text does harm
// where the file is shown or opened: an apostrophe stands before what a spreadsheet would take for
// a formula.
std::string csv(const Sheet& sheet);

// An object for each row, of all sections together.
json::JsonText json_rows(const Sheet& sheet, json::JsonLayout layout = json::JsonLayout::kFitted);

// The object of one row.
json::JsonText json_row(const std::vector<Column>& columns, const Row& row,
                        json::JsonLayout layout = json::JsonLayout::kFitted);

// `text` as it may stand in Markdown, cut to `width` characters.
std::string in_markdown(std::string_view text, int width = 200);

// `text` as it may stand between tags and in quoted attributes. Bytes that are not UTF-8 and
// characters that a reader cannot see (controls, line breaks, changes of direction) become U+FFFD.
std::string in_html(std::string_view text);

// `text` as a field of RFC 4180: quoted when it holds what would end it, or what a spreadsheet that
// wants semicolons would take for its end; behind an apostrophe when it would be taken for a
// formula.
std::string in_csv(std::string_view text);

// `text` between the quotes of a label of OpenMetrics, without anything that would end them or the
// line.
std::string in_label(std::string_view text);

}  // namespace nf4bench::text
