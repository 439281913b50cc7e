#include "text/sheet.hpp"

#include "text/units.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace nf4bench::text {
namespace {

// How the times of a section are written; none where each has a unit of its own.
std::optional<TimeScale> common_scale(const std::vector<Column>& columns, const Section& section) {
  constexpr double kWorldsApart = 1000.0;
  std::vector<double> times;
  for (const Row& row : section.rows) {
    for (std::size_t i = 0; i < row.cells.size() && row.message.empty(); ++i) {
      const double* time = std::get_if<double>(&row.cells[i].kind());
      if (time != nullptr && columns[i].unit == Unit::kSeconds) times.push_back(*time);
    }
  }
  if (times.empty()) return std::nullopt;
  const auto [least, most] = std::ranges::minmax(times);
  return most > kWorldsApart * least ? std::nullopt : std::optional(time_scale(times));
}

// Writes the values of one column.
struct Writer {
  const Column& column;
  const std::optional<TimeScale>& scale;

  // A unit that the column's name says is not said again.
  std::string with(std::string digits, const char* unit) const {
    if (column.name.find(unit) != std::string::npos) return digits;
    return digits + ' ' + unit;
  }

  std::string operator()(std::monostate) const { return ""; }
  std::string operator()(const json::JsonText&) const { return ""; }
  std::string operator()(const std::string& text) const { return text; }
  std::string operator()(bool fact) const { return fact ? "yes" : "no"; }
  std::string operator()(std::int64_t count) const {
    return column.unit == Unit::kNone ? fmt::format("{}", count)
                                      : (*this)(static_cast<double>(count));
  }
  std::string operator()(const Value::Shape& shape) const {
    return fmt::format("{}", fmt::join(shape, "x"));
  }
  std::string operator()(const Value::Words& words) const {
    return fmt::format("{}", fmt::join(words, ", "));
  }
  std::string operator()(const statistics::Interval& interval) const {
    return column.unit == Unit::kRatio ? format_ratio_interval(interval.low, interval.high)
                                       : format_change_interval(interval.low, interval.high);
  }
  std::string operator()(double number) const;
};

std::string Writer::operator()(double number) const {
  switch (column.unit) {
    case Unit::kSeconds:
      return format_time(number, scale ? *scale : time_scale({number}));
    case Unit::kJoules:
      return format_energy(number);
    case Unit::kBytes:
      return format_size(static_cast<std::int64_t>(number));
    case Unit::kBytesPerSecond:
      return with(format_gigabytes(number), "GB/s");
    case Unit::kFlopsPerSecond:
      return with(format_tera(number), "TFLOP/s");
    case Unit::kHertz:
      return with(fmt::format("{:.0f}", number / 1e6), "MHz");
    case Unit::kCelsius:
      return with(fmt::format("{:.0f}", number), "C");
    case Unit::kWatts:
      return with(fmt::format("{:.0f}", number), "W");
    case Unit::kPerSecond:
      return format_rate(number);
    case Unit::kFraction:
      return with(format_percent(number), "%");
    case Unit::kSpread:
      return with(fmt::format("{:.2f}", 100.0 * number), "%");
    case Unit::kChange:
      return format_change(number);
    case Unit::kRatio:
      return format_ratio(number);
    case Unit::kError:
      return fmt::format("{:.1e}", number);
    case Unit::kScore:
      return fmt::format("{:.1f}", number);
    case Unit::kNone:
      break;
  }
  return fmt::format("{}", number);
}

}  // namespace

bool Value::is_number() const {
  return std::holds_alternative<double>(kind_) || std::holds_alternative<std::int64_t>(kind_);
}

Value if_said(std::string text) {
  return text.empty() ? Value() : Value(std::move(text));
}

std::vector<std::vector<std::string>> texts_of(const std::vector<Column>& columns,
                                               const Section& section) {
  const std::optional<TimeScale> scale = common_scale(columns, section);
  std::vector<std::vector<std::string>> texts;
  texts.reserve(section.rows.size());
  for (const Row& row : section.rows) {
    std::vector<std::string>& line = texts.emplace_back();
    for (std::size_t i = 0; i < row.cells.size(); ++i) {
      line.push_back(std::visit(Writer{columns[i], scale}, row.cells[i].kind()));
    }
  }
  return texts;
}

}  // namespace nf4bench::text
