#include "plan/inspection.hpp"

#include "text/printers.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <map>
#include <tuple>

namespace nf4bench::plan {
namespace {

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

// What the quant state says; nothing where there is none.
template <typename Function>
auto of_state(Function&& function) {
  return [function](const Line& line) {
    return line.first->has_state() ? text::Value(function(*line.first)) : text::Value();
  };
}

text::Value state_bytes_of(const Line& line) {
  return line.state_bytes > 0 ? text::Value(line.state_bytes) : text::Value();
}

text::Value storage_of(const Line& line) {
  return line.first->storage ? text::Value(to_string(*line.first->storage)) : text::Value();
}

text::Columns<Line> tensor_columns(bool lists_all) {
  using Entry = io::TensorEntry;
  using text::Unit;
  return {
      {{.name = lists_all ? "" : "tensors", .rank = 1}, &Line::tensors},
      {{.name = "shape", .key = "shape"}, of_state([](const Entry& each) { return each.shape; })},
      {{.key = "elements"}, of_state([](const Entry& each) { return each.elements; })},
      {{.name = "blocksize", .rank = 3, .key = "blocksize"},
       of_state([](const Entry& each) { return each.blocksize; })},
      {{.name = "absmax", .rank = 2},
       of_state([](const Entry& each) { return to_string(each.absmax_kind); })},
      {{.key = "nested"},
       of_state([](const Entry& each) { return each.absmax_kind == nf4::AbsmaxKind::kNested; })},
      {{.name = "dtype", .rank = 4, .key = "dtype"},
       of_state([](const Entry& each) { return to_string(each.dtype); })},
      {{.name = "stored as", .rank = 7, .key = "storage"}, storage_of},
      {{.name = "packed", .unit = Unit::kBytes, .rank = 5, .key = "packed_bytes"},
       [](const Line& line) {
         return line.first->has_state() ? text::Value(line.packed_bytes) : text::Value();
       }},
      {{.name = "state", .unit = Unit::kBytes, .rank = 6, .key = "state_bytes"}, state_bytes_of},
      {{.name = "status"},
       [](const Line& line) { return line.first->problem.empty() ? "ok" : "unusable"; }},
      {{.name = lists_all ? "tensor" : "first tensor",
        .key = "name",
        .least = 30,
        .cut = text::Cut::kMiddle},
       [](const Line& line) { return line.first->name; }},
      {{.key = "source"}, [](const Line& line) { return line.first->source; }},
      {{.key = "warnings"}, [](const Line& line) { return line.first->warnings; }},
      {{.key = "problem"}, [](const Line& line) { return text::if_said(line.first->problem); }}};
}

text::Columns<OtherCount> other_columns() {
  using Other = OtherCount;
  return {{{.name = "not NF4", .key = "kind"},
           [](const Other& each) { return std::string(each.kind); }},
          {{.name = "tensors", .key = "count"}, &Other::count},
          {{.name = "first tensor", .key = "example", .least = 10, .cut = text::Cut::kMiddle},
           [](const Other& each) { return std::string(each.example); }}};
}

// Problems and warnings, a line each; a summary shows the first ones.
void add_remarks(text::Page& page, const Inspection& inspection, bool lists_all) {
  constexpr std::size_t kMost = 10;
  std::size_t count = 0;
  const auto add = [&](const std::string& line) {
    if (++count <= kMost || lists_all) page.line(line);
  };
  for (const io::TensorEntry* entry : inspection.tensors) {
    if (!entry->problem.empty()) add("problem: " + entry->problem);
    for (const std::string& warning : entry->warnings) {
      add(fmt::format("warning: {}: {}", entry->name, warning));
    }
  }
  if (count > kMost && !lists_all) {
    page.line(fmt::format("and {} more; --all lists them", count - kMost));
  }
}

}  // namespace

Inspection inspect(const io::Checkpoint& checkpoint, const std::string& regex) {
  const NameFilter filter(regex);
  Inspection inspection = {.tensors = {}, .others = count_others(checkpoint, filter)};
  for (const io::TensorEntry& entry : checkpoint.tensors()) {
    if (filter.selects(entry.name)) inspection.tensors.push_back(&entry);
  }
  if (inspection.tensors.empty() && !checkpoint.tensors().empty()) {
    throw nothing_selected(regex, {&checkpoint});
  }
  return inspection;
}

std::string inspection_table(const Inspection& inspection, bool lists_all,
                             const text::Style& style) {
  text::Page page(style);
  page.table(text::sheet_of(tensor_columns(lists_all), lines_of(inspection, lists_all)));
  if (!inspection.others.empty()) {
    page.blank();
    page.table(text::sheet_of(other_columns(), inspection.others));
  }
  add_remarks(page, inspection, lists_all);
  return page.take();
}

std::string inspection_json(const std::string& input, const Inspection& inspection) {
  constexpr json::JsonLayout kLayout = json::JsonLayout::kExpanded;
  const text::Sheet tensors = text::sheet_of(tensor_columns(true), lines_of(inspection, true));
  return json::json_object(
             {{"input", input},
              {"tensors", json_rows(tensors, kLayout)},
              {"others", json_rows(text::sheet_of(other_columns(), inspection.others), kLayout)}},
             kLayout)
             .text +
         "\n";
}

}  // namespace nf4bench::plan
