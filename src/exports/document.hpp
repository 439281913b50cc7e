#pragma once

#include "record/report.hpp"
#include "text/document.hpp"

namespace nf4bench::exports {

// The tables of a report, and what has to be known of them.
text::Document document_of(const record::Report& report);

}  // namespace nf4bench::exports
