#include "report/table/columns.hpp"

#include "record/samples.hpp"
#include "report/ranking.hpp"

#include <fmt/format.h>

namespace nf4bench::report {
namespace {

using text::Unit;
using text::Value;

// "passed", or instead of that what is to be known about its samples.
std::string status_of(const record::Measurement& m) {
  if (std::string doubt = doubt_of(m); !doubt.empty()) return doubt;
  if (m.throttled_samples.value_or(0) == 0) return "passed";
  const double percent = 100.0 * record::throttled_share(m);
  return percent < 1.0 ? "throttled <1 %" : fmt::format("throttled {:.0f} %", percent);
}

Value half_width_of(const record::Measurement& m) {
  return m.time_s->median > 0.0 ? Value(statistics::relative_half_width(*m.time_s)) : Value();
}

// A speedup's interval, "baseline", or why there is none.
Value interval_of(const record::Measurement& m) {
  if (!m.speedup) return {};
  if (m.speedup->baseline == m.variant) return "baseline";
  return m.speedup->ci95 ? Value(*m.speedup->ci95) : Value("too few samples");
}

Value energy_of(const record::Measurement& m) {
  if (!m.energy) return {};
  return m.energy->joules ? Value(*m.energy->joules) : Value("unknown");
}

// Of the time of a gradient's row what the product of resident 16-bit weights does not take; empty
// where that one is no faster. Few tokens forward are another matter: there 16-bit weights are
// slow.
Value decoding_share_of(const ResultLine& line) {
  if (line.resident == nullptr || line.m.cell.operation != "backward" ||
      !(line.m.time_s->median > line.resident->time_s->median)) {
    return {};
  }
  return 1.0 - line.resident->time_s->median / line.m.time_s->median;
}

template <typename Function>
auto of(Function&& function) {
  return [function](const ResultLine& line) { return Value(function(line.m)); };
}

// What the accuracy of a row says, where it has one.
template <typename Function>
auto of_accuracy(Function&& function) {
  return [function](const ResultLine& line) {
    const auto& verification = line.m.verification;
    return verification && verification->accuracy ? Value(function(*verification->accuracy))
                                                  : Value();
  };
}

// "exact", "rounded"
std::string weights_word(const record::Accuracy& accuracy) {
  const std::string word = to_string(accuracy.weights);
  return word.substr(0, word.find('-'));
}

text::Columns<ResultLine> time_columns() {
  using M = record::Measurement;
  return {
      {{.name = "tokens"},
       [](const ResultLine& line) { return tokens_of(line.m.cell, line.is_first); }},
      {{.name = "variant", .most = 24}, of([](const M& m) { return m.variant; })},
      {{.name = "median", .unit = Unit::kSeconds}, of([](const M& m) { return m.time_s->median; })},
      {{.name = "+/- %",
        .unit = Unit::kSpread,
        .rank = 6,
        .meaning = "half the median's 95 % interval"},
       of(half_width_of)},
      {{.name = "p95", .unit = Unit::kSeconds, .rank = 7},
       of([](const M& m) { return m.time_s->p95; })}};
}

text::Columns<ResultLine> rate_columns(bool has_tokens) {
  using M = record::Measurement;
  return {{{.name = "GB/s",
            .unit = Unit::kBytesPerSecond,
            .rank = 3,
            .meaning = "bytes that the format needs, read and written, 1e9"},
           of([](const M& m) { return m.bytes_per_s; })},
          {{.name = "TFLOP/s",
            .unit = Unit::kFlopsPerSecond,
            .rank = 3,
            .meaning = "multiplications and additions, 1e12 a second"},
           of([](const M& m) { return m.flops_per_s; })},
          {{.name = "hit", .rank = 2, .meaning = "experts that any token chose"},
           of([](const M& m) { return m.experts ? Value(m.experts->hit) : Value(); })},
          {{.name = "fullest", .rank = 5, .meaning = "rows of the expert that most tokens chose"},
           of([](const M& m) { return m.experts ? Value(m.experts->fullest_rows) : Value(); })},
          {{.name = "% copy",
            .unit = Unit::kFraction,
            .rank = has_tokens ? 4 : 2,
            .meaning = "of the device's own copy in this run"},
           of([](const M& m) { return m.fraction_of_copy; })},
          {{.name = "% roof",
            .unit = Unit::kFraction,
            .rank = 2,
            .meaning = "of the speed that the device's memory and arithmetic allow"},
           of([](const M& m) { return m.roof ? Value(m.roof->fraction) : Value(); })},
          {{.name = "limit", .rank = 4, .meaning = "which of these two it is"},
           of([](const M& m) { return m.roof ? Value(to_string(m.roof->limit)) : Value(); })},
          {{.name = "% stream",
            .unit = Unit::kFraction,
            .rank = 5,
            .meaning = "of the best kernel that only moves the bytes"},
           of([](const M& m) { return m.fraction_of_stream; })},
          {{.name = "% decoding",
            .unit = Unit::kFraction,
            .rank = 3,
            .meaning = "of the time, what resident 16-bit weights would save"},
           decoding_share_of},
          {{.name = "speedup",
            .unit = Unit::kRatio,
            .meaning = "the baseline's time over the variant's"},
           of([](const M& m) { return m.speedup ? Value(m.speedup->ratio) : Value(); })},
          {{.name = "95 % interval", .unit = Unit::kRatio, .rank = has_tokens ? 5 : 1},
           of(interval_of)}};
}

text::Columns<ResultLine> other_columns() {
  using record::Accuracy;
  return {
      {{.name = "weights",
        .rank = 2,
        .meaning = "exact are those that dequantize gives, rounded those with 16-bit steps"},
       of_accuracy(weights_word)},
      {{.name = "rms error",
        .unit = Unit::kError,
        .rank = 1,
        .meaning = "over the root mean square of the true output"},
       of_accuracy([](const Accuracy& each) { return each.rms_error; })},
      {{.name = "max error",
        .unit = Unit::kError,
        .rank = 5,
        .meaning = "the same of the greatest error"},
       of_accuracy([](const Accuracy& each) { return each.max_error; })},
      {{.name = "energy", .unit = Unit::kJoules, .rank = 2, .meaning = "of the whole GPU, a call"},
       of(energy_of)},
      {{.name = "samples", .rank = 8}, of(record::sample_count)},
      {{.name = "clock", .unit = Unit::kHertz, .rank = 9}, of(record::mean_clock_hz)},
      {{.name = "status", .rank = 4}, of(status_of)}};
}

}  // namespace

text::Value tokens_of(const record::Cell& cell, bool is_first) {
  return cell.tokens > 0 && is_first ? Value(cell.tokens) : Value();
}

text::Columns<ResultLine> result_columns(bool has_tokens) {
  text::Columns<ResultLine> columns = time_columns();
  for (text::Columns<ResultLine>& more : std::vector{rate_columns(has_tokens), other_columns()}) {
    columns.insert(columns.end(), more.begin(), more.end());
  }
  return columns;
}

}  // namespace nf4bench::report
