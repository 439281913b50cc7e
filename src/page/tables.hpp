#pragma once

#include "json/json_stream.hpp"

#include <string_view>

namespace nf4bench::page {

// `text` as it may stand between tags and in quoted attributes. What a reader cannot see becomes
// U+FFFD.
std::string html_text(std::string_view text);

// The Markdown that this program writes (headings, tables, lists, bold, escaped characters) as
// HTML, line by line.
void write_tables(std::string_view markdown, const json::TextSink& sink);

}  // namespace nf4bench::page
