#pragma once

// The tables of a report as data, and how a terminal shows them.

#include "report/report.hpp"
#include "text/page.hpp"

#include <string>
#include <vector>

namespace nf4bench::report {

// A sheet for each operation, with a section for each geometry and cell and a row for each variant.
std::vector<text::Sheet> result_sheets(const record::Report& report);

// These two take what summarize_variants() said of `report`.
using Summaries = std::vector<record::VariantSummary>;

// A sheet for each operation: all geometries together and the time of the whole model, a section
// for each cell. None of what a single geometry says already.
std::vector<text::Sheet> model_sheets(const record::Report& report, const Summaries& all);

// What the products of a step of QLoRA training take together, where a report has those forward and
// those back; else without sections. Adapters, attention and loss are no part of it.
text::Sheet training_sheet(const record::Report& report, const Summaries& all);

// Which variant is the fastest with how many tokens; no section without several numbers of tokens.
text::Sheet crossover_sheet(const record::Report& report);

// All of them between what the device is and what came of the run. Narrow terminals lose columns of
// the first in the order clock, samples, p95, +/- %, % stream, status, % decoding, GB/s, % copy,
// 95 % interval; where there are tokens the interval goes before rates and accuracy.
std::string to_table(const record::Report& report, const text::Style& style);

// "busy machine" and what follows from it, where other programs disturbed the run; else empty.
std::string doubt_of_times(const record::Report& report);

inline constexpr char kFastestMark = '*';
inline constexpr char kBaselineMark = '=';
inline constexpr char kReferenceMark = '~';
inline constexpr char kCandidateMark = '?';  // nobody can say which of these is the fastest

}  // namespace nf4bench::report
