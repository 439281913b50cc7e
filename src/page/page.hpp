#pragma once

#include "json/json_stream.hpp"

#include <string>

namespace nf4bench::page {

// What a page is about: a report, a comparison, the ranking of a fleet, or what many
// reports say of cards.
struct Content {
  std::string title;
  std::string json;      // what the page draws from
  std::string tables{};  // what it shows where scripts do not run: elements of HTML, safe already
};

// One page for a browser that needs nothing else: no network, light and dark, printable. It may
// run its own script and nothing besides, whatever a string of the content smuggles in.
void write_page(const Content& content, const json::TextSink& sink);
std::string page_text(const Content& content);

}  // namespace nf4bench::page
