#pragma once

#include "compare/metric.hpp"
#include "report/report.hpp"
#include "text/sheet.hpp"

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace nf4bench::compare {

// What makes measurements of different reports the same cell: the geometry, the variant and how it
// was launched. Names of tensors and devices do not matter.
struct CellKey {
  record::Geometry geometry;
  record::Cell cell;  // without a tensor and a device
  std::string variant;

  // clang-tidy 14 takes the comparison with 0 that this is made of for one with a pointer.
  auto operator<=>(const CellKey&) const = default;  // NOLINT(modernize-use-nullptr)
};

CellKey key_of(const record::ReportTensor& tensor, const record::Measurement& measurement);

// "4096x14336", "128x1536x2048 gate_up top 8"
std::string shape_text(const CellKey& key);

// Everything but the variant: "4096x14336 block 64 nested  bf16  cold graph"
std::string block_text(const CellKey& key);

// The fields that name a cell, spelt as in a report; people read the variant alone.
text::Columns<CellKey> key_columns();

// The same of an item with a member `key`.
template <typename Item>
text::Columns<Item> key_columns_of() {
  text::Columns<Item> columns;
  for (const text::ColumnOf<CellKey>& each : key_columns()) {
    columns.push_back({each, [of = each.of](const Item& item) { return of(item.key); }});
  }
  return columns;
}

// The indices of `items` by block, both in order of appearance; `to_key` gives the key of an item.
template <typename Item, typename Function>
std::vector<std::vector<std::size_t>> blocks_of(const std::vector<Item>& items, Function&& to_key) {
  std::vector<std::vector<std::size_t>> blocks;
  std::map<CellKey, std::size_t> places;
  for (std::size_t i = 0; i < items.size(); ++i) {
    CellKey block = to_key(items[i]);
    block.variant.clear();
    const auto [place, is_new] = places.try_emplace(std::move(block), blocks.size());
    if (is_new) blocks.emplace_back();
    blocks[place->second].push_back(i);
  }
  return blocks;
}

// True when the variant matches any of `patterns` (names with * and ?), or there are none.
bool is_selected(const CellKey& key, const std::vector<std::string>& patterns);

std::set<std::string> measured_variants(const record::Report& report);

// Throws Error(kUsage) when one of `patterns` matches none of `measured`, unless that is empty.
void check_patterns(const std::vector<std::string>& patterns,
                    const std::set<std::string>& measured);

// What one run says of one cell. The cost is the time, or the inverse of a ratio, so that more is
// slower whatever the metric.
struct RunValue {
  double log_cost = 0.0;
  double log_error = 0.0;            // its standard error as far as the samples of the run show it
  double time_s = 0.0;               // median of a call, whatever the metric
  double resolution_s = 0.0;         // a difference between two calls that the timer cannot see
  std::optional<double> clock_hz{};  // median SM clock of the samples
  std::optional<double> fraction_of_copy{};  // rate over the run's copy ceiling
  std::int64_t samples = 0;
  bool has_interval = true;  // of its median, from the samples
  std::string doubt{};       // why no more than a great change follows from it; empty: more does
};

// How a cell fared in one run, the best first.
enum class CellState : std::uint8_t {
  kMeasured,
  kAbsent,   // no row
  kSkipped,  // cannot run there
  kWrong,    // failed, invalid, or a row whose numbers cannot be used
};

struct RunCell {
  CellKey key;
  CellState state = CellState::kAbsent;
  std::string reason;  // why it is not measured
  RunValue value;      // only when it is
};

// The cells of `report` in order of appearance. Tensors of one geometry share a cell: their mean
// logarithm, and the worst of their states. For Metric::kSpeedup the rows of the baseline itself
// are left out.
std::vector<RunCell> run_cells(const record::Report& report, Metric metric);

}  // namespace nf4bench::compare
