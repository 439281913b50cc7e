#include "record/sample_digest.hpp"
#include "record/throttling.hpp"
#include "report/ranking.hpp"
#include "report/table/parts.hpp"
#include "text/units.hpp"

#include <fmt/format.h>

#include <utility>

namespace nf4bench::report {
namespace {

template <typename Format>
std::string if_known(std::optional<double> value, Format&& format) {
  return value ? format(*value) : std::string();
}

std::string format_clock(double clock_hz) {
  return fmt::format("{:.0f} MHz", clock_hz / 1e6);
}

// "passed", or instead of that what is to be known about its samples.
std::string timed_status(const record::Measurement& m) {
  if (std::string doubt = doubt_of(m); !doubt.empty()) return doubt;
  if (m.throttled_samples.value_or(0) == 0) return "passed";
  const double percent = 100.0 * record::throttled_share(m);
  return percent < 1.0 ? "throttled <1 %" : fmt::format("throttled {:.0f} %", percent);
}

std::optional<record::Accuracy> accuracy_of(const record::Measurement& m) {
  return m.verification ? m.verification->accuracy : std::nullopt;
}

// "exact", "rounded"
std::string weights_word(const record::Accuracy& accuracy) {
  const std::string word = to_string(accuracy.weights);
  return word.substr(0, word.find('-'));
}

std::string error_text(double error) {
  return fmt::format("{:.1e}", error);
}

std::string energy_text(const record::Measurement& m) {
  if (!m.energy) return "";
  return m.energy->joules ? text::format_energy(*m.energy->joules) : "unknown";
}

bool is_baseline(const record::Measurement& m) {
  return m.speedup && m.speedup->baseline == m.variant;
}

// Of a line whose first column is `name`.
std::vector<std::string> timed_cells(const record::Measurement& m, const std::string& name,
                                     const text::TimeScale& scale) {
  const statistics::Summary& time = *m.time_s;
  const std::optional<record::Accuracy> accuracy = accuracy_of(m);
  const std::optional<double> half_width = statistics::relative_half_width(time);
  return {
      name,
      text::format_time(time.median, scale),
      half_width && time.median > 0.0 ? fmt::format("{:.2f}", 100.0 * *half_width) : "",
      text::format_time(time.p95, scale),
      if_known(m.bytes_per_s, text::format_gigabytes),
      if_known(m.flops_per_s, text::format_tera),
      if_known(m.fraction_of_copy, text::format_percent),
      m.roof ? text::format_percent(m.roof->fraction) : "",
      m.roof ? to_string(m.roof->limit) : "",
      if_known(m.fraction_of_stream, text::format_percent),
      m.speedup ? text::format_ratio(m.speedup->ratio) : "",
      m.speedup ? speedup_interval_text(*m.speedup, m.variant) : "",
      accuracy ? weights_word(*accuracy) : "",
      accuracy ? error_text(accuracy->rms_error) : "",
      accuracy ? error_text(accuracy->max_error) : "",
      energy_text(m),
      fmt::format("{}", record::sample_count(m)),
      if_known(record::mean_clock_hz(m), format_clock),
      timed_status(m),
  };
}

// What columns hold, in the order in which the legend explains them.
constexpr std::pair<const char*, const char*> kMeanings[] = {
    {"GB/s", "bytes that the format needs, read and written, 1e9"},
    {"TFLOP/s", "multiplications and additions, 1e12 a second"},
    {"% copy", "of the device's own copy in this run"},
    {"% roof", "of the speed that the device's memory and arithmetic allow"},
    {"limit", "which of these two it is"},
    {"% stream", "of the best kernel that only moves the bytes"},
    {"energy", "of the whole GPU, a call"},
    {"+/- %", "half the median's 95 % interval"},
    {"weights", "exact are those that dequantize gives, rounded those with 16-bit steps"},
    {"rms error", "over the root mean square of the true output"},
    {"max error", "the same of the greatest error"}};

}  // namespace

std::string tokens_column(const record::Cell& cell, bool is_first) {
  constexpr int kWidth = 6;  // of the word above the numbers
  if (cell.tokens == 0) return "";
  return is_first ? fmt::format("{:>{}} ", cell.tokens, kWidth) : std::string(kWidth + 1, ' ');
}

std::vector<text::GridColumn> block_columns(bool has_tokens) {
  const int interval_rank = has_tokens ? 5 : 1;
  return {
      {has_tokens ? "tokens variant" : "variant", text::Align::kLeft},
      {"median"},
      {"+/- %", text::Align::kRight, 6},
      {"p95", text::Align::kRight, 7},
      {"GB/s", text::Align::kRight, 3},
      {"TFLOP/s", text::Align::kRight, 3},
      {"% copy", text::Align::kRight, has_tokens ? 4 : 2},
      {"% roof", text::Align::kRight, 2},
      {"limit", text::Align::kLeft, 4},
      {"% stream", text::Align::kRight, 5},
      {"speedup"},
      {"95 % interval", text::Align::kLeft, interval_rank},
      {"weights", text::Align::kLeft, 2},
      {"rms error", text::Align::kRight, 1},
      {"max error", text::Align::kRight, 5},
      {"energy", text::Align::kRight, 2},
      {"samples", text::Align::kRight, 8},
      {"clock", text::Align::kRight, 9},
      {"status", text::Align::kLeft, 4},
  };
}

text::GridRow untimed_row(const record::Measurement& m, const std::string& name) {
  const char* word = m.status == record::Status::kFailed    ? "FAILED"
                     : m.status == record::Status::kInvalid ? "INVALID"
                     : m.status == record::Status::kSkipped ? "skipped"
                                                            : "passed, not timed";
  const text::Tone tone = m.status == record::Status::kSkipped  ? text::Tone::kFaint
                          : m.status == record::Status::kPassed ? text::Tone::kPlain
                                                                : text::Tone::kBad;
  std::string message = word;
  if (!m.reason.empty()) message += ": " + m.reason;
  text::GridRow row;
  row.cells = {name};
  row.tone = tone;
  row.message = std::move(message);
  return row;
}

text::GridRow timed_row(const record::Measurement& m, const std::string& name,
                        const text::TimeScale& scale, const Ranking& ranking) {
  text::GridRow line;
  line.cells = timed_cells(m, name, scale);
  if (is_baseline(m)) line.marker = kBaselineMark;
  if (m.reference_line) line.marker = kReferenceMark;
  if (&m == ranking.fastest) {
    line.marker = kFastestMark;
    line.tone = text::Tone::kGood;
  } else if (ranking.is_candidate(m)) {
    line.marker = kCandidateMark;
    line.tone = text::Tone::kDoubt;
  }
  return line;
}

void append_legend(TablePage& page, const text::GridLayout& layout, const Legend& legend) {
  std::string text = fmt::format("{} fastest", kFastestMark);
  if (legend.is_undecided) {
    text += fmt::format(
        "  {} may be the fastest: other programs kept the machine busy, the spread is "
        "over {:.0f} %, or fewer than {} samples carry no interval",
        kCandidateMark, 100.0 * kWidestHalf, statistics::kFewestForInterval);
  }
  if (layout.shows("speedup")) {
    text += fmt::format("  {} baseline ({}); speedup: the baseline's time over the variant's",
                        kBaselineMark, shown_variant(legend.baseline));
  }
  if (legend.has_reference_line) {
    text += fmt::format("  {} not ranked: reads a weight that is no longer NF4", kReferenceMark);
  }
  for (const auto& [column, meaning] : kMeanings) {
    if (layout.shows(column)) text += fmt::format("; {}: {}", column, meaning);
  }
  if (!legend.inputs_seen.empty()) text += "; " + legend.inputs_seen;
  if (legend.is_throttled) {
    text += fmt::format(
        "; throttled: passed, with so many samples whose SM clock was over {:.0f} % under the "
        "highest of its row",
        100.0 * record::kThrottledBelowHighest);
  }
  page.blank();
  page.paragraph(text, 2, text::Tone::kFaint);
}

}  // namespace nf4bench::report
