#include "cli/commands/inspect_table.hpp"

#include "base/text.hpp"
#include "text/text_grid.hpp"
#include "text/units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <tuple>
#include <utility>

namespace nf4bench::cli {
namespace {

using Rows = std::vector<std::vector<std::string>>;

constexpr char kUnknown[] = "-";

// A tensor, or all of one geometry.
struct Line {
  const io::TensorEntry* first = nullptr;
  std::int64_t tensors = 0;
  std::int64_t packed_bytes = 0;
  std::int64_t state_bytes = 0;

  void add(const io::TensorEntry& entry) {
    if (first == nullptr) first = &entry;
    ++tensors;
    packed_bytes += entry.packed_bytes;
    state_bytes += entry.state_bytes;
  }
};

// Orders tensors of one geometry, one storage and one status together.
struct LessByGeometry {
  static auto key(const io::TensorEntry& e) {
    return std::tie(e.shape, e.blocksize, e.absmax_kind, e.dtype, e.storage);
  }
  bool operator()(const io::TensorEntry* a, const io::TensorEntry* b) const {
    const bool a_is_ok = a->problem.empty();
    const bool b_is_ok = b->problem.empty();
    return a_is_ok != b_is_ok ? a_is_ok : key(*a) < key(*b);
  }
};

std::vector<Line> lines_of(const Inspection& inspection, bool lists_all) {
  std::vector<Line> lines;
  std::map<const io::TensorEntry*, std::size_t, LessByGeometry> line_of;
  for (const io::TensorEntry* entry : inspection.tensors) {
    const std::size_t line =
        lists_all ? lines.size() : line_of.try_emplace(entry, lines.size()).first->second;
    if (line == lines.size()) lines.emplace_back();
    lines[line].add(*entry);
  }
  return lines;
}

struct Column {
  std::string title;
  int drop_rank = 0;  // 0: never dropped; else the column of the highest rank goes first
};

struct Table {
  std::vector<Column> columns;
  Rows rows;  // the first has the titles

  void drop(std::size_t column) {
    const auto at = static_cast<std::ptrdiff_t>(column);
    columns.erase(columns.begin() + at);
    for (auto& row : rows) row.erase(row.begin() + at);
  }
};

std::vector<std::string> cells_of(const Line& line) {
  const io::TensorEntry& entry = *line.first;
  const bool is_known = entry.has_state();
  return {fmt::format("{}", line.tensors),
          is_known ? nf4::shape_to_string(entry.shape) : kUnknown,
          is_known ? fmt::format("{}", entry.blocksize) : kUnknown,
          is_known ? to_string(entry.absmax_kind) : kUnknown,
          is_known ? to_string(entry.dtype) : kUnknown,
          entry.storage ? to_string(*entry.storage) : kUnknown,
          is_known ? text::format_size(line.packed_bytes) : kUnknown,
          line.state_bytes > 0 ? text::format_size(line.state_bytes) : kUnknown,
          entry.problem.empty() ? "ok" : "unusable",
          escaped(entry.name, 160)};
}

Table table_of(const std::vector<Line>& lines, bool lists_all) {
  Table table;
  table.columns = {{"tensors", 1},   {"shape"},
                   {"blocksize", 3}, {"absmax", 2},
                   {"dtype", 4},     {"stored as", 7},
                   {"packed", 5},    {"state", 6},
                   {"status"},       {lists_all ? "tensor" : "first tensor"}};
  table.rows.reserve(lines.size() + 1);
  table.rows.emplace_back();
  for (const Column& column : table.columns) table.rows.front().push_back(column.title);
  for (const Line& line : lines) table.rows.push_back(cells_of(line));
  if (lists_all) table.drop(0);
  return table;
}

// What the last column, which has the names, may be wide: columns are two blanks apart.
int room_for_names(const Table& table, int width) {
  for (std::size_t i = 0; i + 1 < table.columns.size(); ++i) {
    int widest = 0;
    for (const auto& row : table.rows) widest = std::max(widest, text::text_width(row[i]));
    width -= widest + 2;
  }
  return width;
}

// The start and the end of `name` in `width` columns: the end says the most.
std::string shortened(const std::string& name, int width) {
  if (text::text_width(name) <= width) return name;
  const bool is_ascii = text::text_width(name) == static_cast<int>(name.size());
  if (!is_ascii || width < 10) return text::fitted(name, width);
  const auto kept = static_cast<std::size_t>(width - 3);
  return name.substr(0, kept / 3) + "..." + name.substr(name.size() - (kept - kept / 3));
}

// Drops columns until names have room, and shortens those that still have none.
void fit(Table& table, int width) {
  constexpr int kNameRoom = 30;
  const auto rank_less = [](const Column& a, const Column& b) { return a.drop_rank < b.drop_rank; };
  int room = room_for_names(table, width);
  while (room < kNameRoom) {
    const auto last = std::max_element(table.columns.begin(), table.columns.end(), rank_less);
    if (last->drop_rank == 0) break;
    table.drop(static_cast<std::size_t>(last - table.columns.begin()));
    room = room_for_names(table, width);
  }
  for (auto& row : table.rows) row.back() = shortened(row.back(), std::max(room, 10));
}

// Problems and warnings, a line each; a summary shows the first ones.
std::string remarks_on(const Inspection& inspection, bool lists_all) {
  constexpr std::size_t kMost = 10;
  std::string text;
  std::size_t count = 0;
  const auto add = [&](const std::string& line) {
    if (++count <= kMost || lists_all) text += line;
  };
  for (const io::TensorEntry* entry : inspection.tensors) {
    if (!entry->problem.empty()) add(fmt::format("problem: {}\n", printable(entry->problem)));
    for (const std::string& warning : entry->warnings) {
      add(fmt::format("warning: {}: {}\n", escaped(entry->name), printable(warning)));
    }
  }
  if (count > kMost && !lists_all) {
    text += fmt::format("and {} more; --all lists them\n", count - kMost);
  }
  return text;
}

std::string others_line(const plan::OtherCount& other, int width) {
  const std::string start = fmt::format("not NF4: {} {} (for example ", other.count, other.kind);
  const std::string name = escaped(other.example);
  const int room = std::max(width - text::text_width(start) - 1, 10);
  return start + (width > 0 ? shortened(name, room) : name) + ")\n";
}

}  // namespace

std::string inspect_table(const Inspection& inspection, const InspectTableStyle& style) {
  Table table = table_of(lines_of(inspection, style.lists_all), style.lists_all);
  if (style.width > 0) fit(table, style.width);
  std::string text = text::align_columns(table.rows, style.width);
  for (const plan::OtherCount& other : inspection.others) text += others_line(other, style.width);
  return text + remarks_on(inspection, style.lists_all);
}

}  // namespace nf4bench::cli
