#pragma once

#include <string_view>

namespace nf4bench::page {

// page.html, in which {{names}} stand for what page.cpp puts there; the text of its style; and that
// of its script.
extern const std::string_view kTemplate;
extern const std::string_view kStyle;
extern const std::string_view kScript;

}  // namespace nf4bench::page
