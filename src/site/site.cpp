#include "site/site.hpp"

#include "compare/run_cells.hpp"
#include "statistics/statistics.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <tuple>
#include <utility>

namespace nf4bench::site {
namespace {

using compare::CellKey;
using record::Measurement;
using record::Report;

// What one report says of a cell.
struct Reading {
  const Sent* sent = nullptr;
  const Measurement* row = nullptr;
  double time_s = 0.0;

  const Report& report() const { return sent->report->report; }
};

std::string build_of(const Report& report) {
  const record::ToolInfo& tool = report.tool;
  return fmt::format("{} {}{}", tool.version, tool.git_commit.substr(0, 8),
                     tool.git_dirty ? " (changed)" : "");
}

// Boards of whose serial numbers nothing is known are those of their machines.
std::string board_of(const Sent& sent) {
  const Report& report = sent.report->report;
  return report.device.uuid.empty() ? sent.sender + ' ' + report.host.name : report.device.uuid;
}

// Letters, digits and dashes in lower case, which every file system keeps apart.
std::string file_word(const std::string& name) {
  std::string word;
  for (const char c : name.substr(0, 80)) {
    const bool is_upper = c >= 'A' && c <= 'Z';
    if (is_upper || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')) {
      word += static_cast<char>(is_upper ? c - 'A' + 'a' : c);
    } else if (!word.empty() && word.back() != '-') {
      word += '-';
    }
  }
  while (!word.empty() && word.back() == '-') word.pop_back();
  return word.empty() ? "card" : word;
}

// Why the figures of `report` are not those of its card; empty where they are.
std::string reason_to_leave_out(const Report& report, bool has_times) {
  if (!has_times) return "no measurement passed";
  if (report.state_before.throttle_reasons.empty()) return "";
  return fmt::format("the driver held the clocks down before the run: {}",
                     fmt::join(report.state_before.throttle_reasons, ", "));
}

std::map<CellKey, Reading> readings_of(const Sent& sent) {
  const Report& report = sent.report->report;
  std::map<std::string, const record::ReportTensor*> tensors;
  for (const record::ReportTensor& tensor : report.tensors) tensors[tensor.id] = &tensor;
  std::map<CellKey, Reading> readings;
  for (const compare::RunCell& cell : compare::run_cells(report, compare::Metric::kTime)) {
    if (cell.state != compare::CellState::kMeasured) continue;
    readings[cell.key] = {.sent = &sent, .row = nullptr, .time_s = cell.value.time_s};
  }
  for (const Measurement& row : report.measurements) {
    const auto tensor = tensors.find(row.cell.tensor);
    if (tensor == tensors.end()) continue;
    const auto reading = readings.find(compare::key_of(*tensor->second, row));
    if (reading != readings.end() && reading->second.row == nullptr) reading->second.row = &row;
  }
  return readings;
}

// `readings` are in the order of time.
Entry entry_of(const CellKey& key, const std::vector<Reading>& readings) {
  const Reading& newest = readings.back();
  const std::string build = build_of(newest.report());
  std::map<std::string, double> boards;
  std::set<std::string> senders;
  for (const Reading& reading : readings) {
    if (build_of(reading.report()) != build) continue;
    boards[board_of(*reading.sent)] = reading.time_s;
    senders.insert(reading.sent->sender);
  }
  std::vector<double> times;
  times.reserve(boards.size());
  for (const auto& [board, time_s] : boards) times.push_back(time_s);
  const auto [lowest, highest] = std::ranges::minmax_element(times);
  return {.key = key,
          .reference_line = newest.row->reference_line,
          .time_s = statistics::median(times),
          .lowest_s = *lowest,
          .highest_s = *highest,
          .boards = times.size(),
          .speedup = newest.row->speedup,
          .bytes_per_s = newest.row->bytes_per_s,
          .fraction_of_copy = newest.row->fraction_of_copy,
          .fraction_of_stream = newest.row->fraction_of_stream,
          .build = build,
          .senders = {senders.begin(), senders.end()}};
}

// The cells of a card by operation, mode and geometry, of each the variants.
bool comes_before(const Entry& a, const Entry& b) {
  const auto place = [](const Entry& entry) {
    record::Cell mode = entry.key.cell;
    const std::int64_t tokens = std::exchange(mode.tokens, 0);
    return std::make_tuple(mode, -entry.key.geometry.elements(), entry.key.geometry,
                           entry.key.variant, tokens);
  };
  return place(a) < place(b);
}

}  // namespace

std::optional<double> Entry::spread() const {
  if (boards < 2) return std::nullopt;
  return highest_s / lowest_s - 1.0;
}

Site make_site(const std::vector<Sent>& reports) {
  std::vector<Sent> ordered = reports;
  std::ranges::stable_sort(ordered, [](const Sent& a, const Sent& b) {
    return a.report->report.started_at < b.report->report.started_at;
  });
  Site site;
  std::map<std::string, Card> cards;
  std::map<std::string, std::map<CellKey, std::vector<Reading>>> cells;
  for (const Sent& sent : ordered) {
    const Report& report = sent.report->report;
    const std::map<CellKey, Reading> readings = readings_of(sent);
    std::string reason = reason_to_leave_out(report, !readings.empty());
    if (!reason.empty()) {
      site.left_out.push_back({sent.report->name, std::move(reason)});
      continue;
    }
    Card& card = cards[report.device.name];
    ++card.reports;
    card.boards.insert(board_of(sent));
    card.senders.insert(sent.sender);
    card.build = build_of(report);
    card.newest_at = report.started_at;
    if (report.ceilings.copy_bytes_per_s > 0.0) {
      card.copy_bytes_per_s = report.ceilings.copy_bytes_per_s;
    }
    for (const auto& [key, reading] : readings) cells[report.device.name][key].push_back(reading);
  }
  std::set<std::string> files = {"index"};
  for (auto& [name, card] : cards) {
    card.name = name;
    std::string word = file_word(name);
    while (!files.insert(word).second) word += "-other";
    card.file = word + ".html";
    for (const auto& [key, readings] : cells[name]) card.entries.push_back(entry_of(key, readings));
    std::ranges::sort(card.entries, comes_before);
    site.cards.push_back(std::move(card));
  }
  return site;
}

std::vector<SharedCell> shared_cells(const Site& site) {
  constexpr std::size_t kMost = 6;
  std::map<CellKey, SharedCell> shared;
  for (const Card& card : site.cards) {
    for (const Entry& entry : card.entries) {
      if (entry.reference_line || entry.key.cell.cache != record::CacheMode::kCold) continue;
      CellKey key = entry.key;
      key.variant.clear();
      double& fastest = shared[key].fastest_s.try_emplace(card.name, entry.time_s).first->second;
      fastest = std::min(fastest, entry.time_s);
    }
  }
  std::vector<std::pair<CellKey, SharedCell>> ordered(shared.begin(), shared.end());
  std::ranges::stable_sort(ordered, [](const auto& a, const auto& b) {
    const auto place = [](const auto& pair) {
      return std::make_pair(pair.second.fastest_s.size(), pair.first.geometry.elements());
    };
    return place(a) > place(b);
  });
  std::vector<SharedCell> cells;
  std::set<record::Cell> modes;
  for (auto& [key, cell] : ordered) {
    if (cells.size() == kMost || !modes.insert(key.cell).second) continue;
    cell.name = geometry_text(key) + "  " + report::cell_name(key.cell);
    cells.push_back(std::move(cell));
  }
  return cells;
}

std::string geometry_text(const CellKey& key) {
  return fmt::format("{} {}/{}", compare::shape_text(key), to_string(key.geometry.absmax_kind),
                     key.geometry.blocksize);
}

}  // namespace nf4bench::site
