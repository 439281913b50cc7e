#pragma once

#include "record/report.hpp"
#include "text/sheet.hpp"

namespace nf4bench::report {

// A row of a cell: a measurement, or the totals of a variant.
struct ResultLine {
  const record::Measurement& m;
  bool is_first = false;  // of its cell
  // Of its cell the row that reads resident 16-bit weights; null: none was timed.
  const record::Measurement* resident = nullptr;
};

// Of an operation with tokens or without.
text::Columns<ResultLine> result_columns(bool has_tokens);

// The number of tokens in the first line of a cell that has any.
text::Value tokens_of(const record::Cell& cell, bool is_first);

}  // namespace nf4bench::report
