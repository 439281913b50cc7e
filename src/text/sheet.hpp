#pragma once

#include "json/json_text.hpp"
#include "statistics/statistics.hpp"

#include <concepts>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace nf4bench::text {

// What the numbers of a column are: decides their digits.
enum class Unit : std::uint8_t {
  kNone,            // text, counts
  kSeconds,         // "36.52 us": one scale for a section, unless its times are worlds apart
  kJoules,          // "1.24 mJ"
  kBytes,           // "40.3 MiB"
  kBytesPerSecond,  // "4068 GB/s"
  kFlopsPerSecond,  // "654 TFLOP/s"
  kHertz,           // "1980 MHz"
  kCelsius,         // "44 C"
  kWatts,           // "402 W"
  kPerSecond,       // "932", three digits of it
  kFraction,        // "95.0 %"
  kSpread,          // a fraction that is small: "0.52 %"
  kChange,          // "+5.2 %"
  kRatio,           // "3.371x"
  kError,           // "1.6e-03"
  kScore,           // "2.1"
};

// What stands in a cell. Default: nothing is known; null in JSON.
class Value {
 public:
  using Shape = std::vector<std::int64_t>;  // "4096x14336"
  using Words = std::vector<std::string>;   // "a, b"
  using Kinds = std::variant<std::monostate, std::string, std::int64_t, double, bool,
                             statistics::Interval, Shape, Words, json::JsonText>;

  Value() = default;
  Value(std::string text) : kind_(std::move(text)) {}
  Value(const char* text) : kind_(std::string(text)) {}
  Value(double number) : kind_(number) {}
  Value(bool fact) : kind_(fact) {}
  template <std::integral Integer>
  Value(Integer count) : kind_(static_cast<std::int64_t>(count)) {}
  Value(statistics::Interval interval) : kind_(interval) {}
  Value(Shape shape) : kind_(std::move(shape)) {}
  Value(Words words) : kind_(std::move(words)) {}
  Value(json::JsonText text) : kind_(std::move(text)) {}  // for programs alone
  template <typename Known>
  Value(const std::optional<Known>& value) {
    if (value) *this = Value(*value);
  }

  const Kinds& kind() const { return kind_; }
  bool is_known() const { return kind_.index() != 0; }
  bool is_number() const;

 private:
  Kinds kind_;
};

// `text`, or nothing where it is empty.
Value if_said(std::string text);

// What "..." stands for in a text that is cut.
enum class Cut : std::uint8_t { kEnd, kMiddle };

struct Column {
  std::string name{};  // above the column; empty: not for people
  Unit unit = Unit::kNone;
  int rank = 0;       // a narrow terminal does without the column of the highest one; 0: never
  std::string key{};  // in JSON and CSV, "base.value" in the object "base"; empty: not for programs
  int most = 0;       // characters that its texts are cut to; 0: any number
  int least = 0;      // the same where the line is full; 0: they are not
  Cut cut = Cut::kEnd;
  std::string meaning{};  // below the table, where the column is shown
};

// What a line is for; decides its colour where there is any.
enum class Tone : std::uint8_t { kPlain, kHeading, kFaint, kGood, kBad, kDoubt };

struct Row {
  std::vector<Value> cells{};  // one for each column
  char mark = ' ';             // in the margin
  Tone tone = Tone::kPlain;
  std::string message{};  // for people: in place of the cells behind the leading ones
  std::string why{};      // for people: below the row
  std::string fix{};      // the same, on one line whatever its length, to be copied
};

// Rows under one heading.
struct Section {
  std::string title{};
  std::string aside{};  // at the right edge of the title's line
  std::string note{};   // below it
  std::vector<Row> rows{};
};

// A table as data. Nothing is formatted or aligned, and text is as hostile as it came: all that is
// for page.hpp and printers.hpp.
struct Sheet {
  std::vector<Column> columns{};
  std::vector<Section> sections{};
  std::vector<std::string> legend{};  // below all, before the meanings of the columns
  std::size_t leading = 1;            // columns that stand beside a message, too
};

// A column and what stands in it of an item.
template <typename Item>
struct ColumnOf : Column {
  std::function<Value(const Item&)> of;
};

template <typename Item>
using Columns = std::vector<ColumnOf<Item>>;

template <typename Item>
Row row_of(const Columns<Item>& columns, const Item& item) {
  Row row;
  row.cells.reserve(columns.size());
  for (const ColumnOf<Item>& column : columns) row.cells.push_back(column.of(item));
  return row;
}

// A sheet without rows.
template <typename Item>
Sheet empty_sheet(const Columns<Item>& columns) {
  return {.columns = {columns.begin(), columns.end()}};
}

// A sheet of one section, a row for each of `items`.
template <typename Item, typename Items>
Sheet sheet_of(const Columns<Item>& columns, const Items& items) {
  Sheet sheet = empty_sheet(columns);
  Section& section = sheet.sections.emplace_back();
  for (const Item& item : items) section.rows.push_back(row_of(columns, item));
  return sheet;
}

// The texts of each row's cells as people read them, not yet harmless.
std::vector<std::vector<std::string>> texts_of(const std::vector<Column>& columns,
                                               const Section& section);

}  // namespace nf4bench::text
