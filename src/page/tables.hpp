#pragma once

#include "json/json_stream.hpp"

#include <string_view>

namespace nf4bench::page {

// The Markdown that this program writes (headings, tables, lists, bold, escaped characters) as
// HTML, line by line.
void write_tables(std::string_view markdown, const json::TextSink& sink);

}  // namespace nf4bench::page
