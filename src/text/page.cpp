#include "text/page.hpp"

#include "base/text.hpp"
#include "base/words.hpp"

#include <algorithm>
#include <unistd.h>

namespace nf4bench::text {
namespace {

constexpr int kMinWidth = 40;
constexpr int kAnyWidth = 1 << 30;

constexpr Word<Tone> kEscapeCodes[] = {{Tone::kHeading, "\x1b[1m"},
                                       {Tone::kFaint, "\x1b[2m"},
                                       {Tone::kGood, "\x1b[32m"},
                                       {Tone::kBad, "\x1b[1;31m"},
                                       {Tone::kDoubt, "\x1b[33m"}};

// Blanks at the end of a line show up in diffs and copies.
std::string trimmed(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

// The first `count` of `texts` in their columns, each followed by a gap.
std::string side_by_side(const Sheet& sheet, const Layout& layout,
                         const std::vector<std::string>& texts, std::size_t count) {
  std::string line;
  for (std::size_t i = 0; i < std::min(count, texts.size()); ++i) {
    if (layout.widths[i] == 0) continue;
    const std::string text = fitted(texts[i], layout.widths[i], sheet.columns[i].cut);
    const auto blanks = static_cast<std::size_t>(layout.widths[i] - text_width(text));
    line +=
        layout.has_numbers[i] ? std::string(blanks, ' ') + text : text + std::string(blanks, ' ');
    line += "  ";
  }
  return line;
}

std::string header_of(const Sheet& sheet, const Layout& layout) {
  std::vector<std::string> names;
  for (const Column& column : sheet.columns) names.push_back(column.name);
  return std::string(static_cast<std::size_t>(layout.margin), ' ') +
         side_by_side(sheet, layout, names, names.size());
}

}  // namespace

Style listing_style(const Terminal& terminal) {
  return {.width = terminal.has_width ? terminal.width : 0, .colour = terminal.colour};
}

Style report_style(const Terminal& terminal) {
  return {.width = terminal.width, .colour = terminal.colour};
}

Page::Page(const Style& style) : style_(style) {
  style_.width = style_.width == 0 ? kAnyWidth : std::max(style_.width, kMinWidth);
}

void Page::line(std::string_view text, Tone tone) {
  const char* code = style_.colour && !text.empty() ? word_of(kEscapeCodes, tone) : "";
  text_ += code;
  text_ += printable(text);
  if (*code != '\0') text_ += "\x1b[0m";
  text_ += '\n';
}

void Page::paragraph(std::string_view text, int indent, Tone tone) {
  for (const std::string& each : wrapped(printable(text), style_.width, indent)) line(each, tone);
}

void Page::heading(const std::string& left, const std::string& right) {
  const int width = style_.width == kAnyWidth ? 100 : style_.width;
  const int gap = width - text_width(printable(left)) - text_width(printable(right));
  if (right.empty() || gap < 2) {
    paragraph(left, 0, Tone::kHeading);
    paragraph(right, 2, Tone::kHeading);
    return;
  }
  line(left + std::string(static_cast<std::size_t>(gap), ' ') + right, Tone::kHeading);
}

void Page::table(const Sheet& sheet) {
  const Layout layout = lay_out(sheet, style_.width == kAnyWidth ? 0 : style_.width);
  for (std::size_t s = 0; s < sheet.sections.size(); ++s) {
    const Section& section = sheet.sections[s];
    if (!section.title.empty()) {
      blank();
      heading(section.title, section.aside);
    }
    if (!section.note.empty()) paragraph(section.note, 2, Tone::kFaint);
    line(trimmed(header_of(sheet, layout)), Tone::kFaint);
    for (std::size_t r = 0; r < section.rows.size(); ++r) {
      row(sheet, layout, section.rows[r], layout.texts[s][r]);
    }
  }
  if (layout.legend.empty()) return;
  blank();
  paragraph(layout.legend, 2, Tone::kFaint);
}

void Page::row(const Sheet& sheet, const Layout& layout, const Row& row,
               const std::vector<std::string>& texts) {
  const bool has_message = !row.message.empty();
  const int start = has_message ? layout.end_of(sheet.leading) : layout.margin + 2;
  std::string text = layout.margin > 0 ? std::string{row.mark, ' '} : std::string();
  text += side_by_side(sheet, layout, texts, has_message ? sheet.leading : texts.size());
  if (has_message) {
    constexpr int kLeastRoom = 16;
    const int width = std::max(style_.width, start + kLeastRoom);
    std::vector<std::string> lines = wrapped(printable(row.message), width, start);
    lines.front().replace(0, static_cast<std::size_t>(start), text);
    for (const std::string& each : lines) line(each, row.tone);
  } else {
    line(trimmed(std::move(text)), row.tone);
  }
  if (!row.why.empty()) paragraph(row.why, start, Tone::kFaint);
  if (!row.fix.empty()) line(std::string(static_cast<std::size_t>(start), ' ') + row.fix);
}

std::string terminal(const Sheet& sheet, const Style& style) {
  Page page(style);
  page.table(sheet);
  return page.take();
}

std::vector<std::string> wrapped(std::string_view text, int line_width, int indent) {
  const std::string margin(static_cast<std::size_t>(indent), ' ');
  std::vector<std::string> lines;
  std::string line = margin;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const bool is_first = line.size() == margin.size();
    if (!is_first && text_width(line) + 1 + text_width(word) > line_width) {
      lines.push_back(line);
      line = margin;
    }
    if (line.size() > margin.size()) line += ' ';
    line += word;
  }
  if (line.size() > margin.size()) lines.push_back(line);
  return lines;
}

Style table_style() {
  return report_style(terminal_of(STDOUT_FILENO));
}

void show_beside(bool stdout_is_taken, const std::function<std::string(const Style&)>& text_of) {
  if (!stdout_is_taken) return write_stdout(text_of(table_style()));
  draw_on_stderr(text_of(report_style(terminal_of(STDERR_FILENO))));
}

}  // namespace nf4bench::text
