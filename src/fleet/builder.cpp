#include "fleet/builder.hpp"

#include "base/error.hpp"
#include "base/parallel.hpp"
#include "base/text.hpp"
#include "record/samples.hpp"
#include "report/host.hpp"
#include "report/report.hpp"
#include "text/units.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <span>
#include <sstream>
#include <string_view>
#include <utility>

namespace nf4bench::fleet {
namespace {

constexpr std::string_view kCommit = "commit";
constexpr int kMostDays = 30;  // between the reports of a fleet

// What units of one fleet may differ in.
bool is_of_the_unit(const compare::TraitValue& trait) {
  return trait.name == std::string_view("uuid");
}

// Kernels of another commit take other times: in a fleet, where nobody asks which, builds are not
// mixed.
bool matters(const compare::TraitValue& trait) {
  return !is_of_the_unit(trait) && (trait.matters || trait.name == kCommit);
}

bool differ(const compare::TraitValue& a, const compare::TraitValue& b) {
  return matters(a) && !a.value.empty() && !b.value.empty() && a.value != b.value;
}

// In what two kinds differ: "driver: 570.86, others 580.159".
std::string difference_text(const std::vector<compare::TraitValue>& traits,
                            const std::vector<compare::TraitValue>& others) {
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < traits.size(); ++i) {
    if (!differ(traits[i], others[i])) continue;
    texts.push_back(
        fmt::format("{}: {}, others {}", traits[i].name, traits[i].value, others[i].value));
  }
  return fmt::format("{}", fmt::join(texts, "; "));
}

// The days from 1970 on of a date as reports have it; none where there is none.
std::optional<int> day_of(const std::string& date) {
  int year = 0;
  unsigned month = 0;
  unsigned day = 0;
  if (std::sscanf(date.c_str(), "%4d-%2u-%2u", &year, &month, &day) != 3) return std::nullopt;
  const auto calendar = std::chrono::year(year) / std::chrono::month(month) / std::chrono::day(day);
  if (!calendar.ok()) return std::nullopt;
  return static_cast<int>(std::chrono::sys_days(calendar).time_since_epoch().count());
}

std::vector<std::string> values_of(const std::vector<compare::TraitValue>& traits,
                                   const std::vector<std::string>& names) {
  std::vector<std::string> values;
  for (const compare::TraitValue& trait : traits) {
    if (std::ranges::find(names, trait.name) != names.end()) {
      values.push_back(trait.value);
    }
  }
  return values;
}

Facts facts_of(const std::vector<compare::TraitValue>& traits) {
  Facts facts;
  for (const compare::TraitValue& trait : traits) {
    if (matters(trait) && !trait.value.empty()) {
      facts.push_back({trait.name, trait.value});
    }
  }
  return facts;
}

// A CPU has no UUID: tasks on one host have processors of their own. Tasks that share the
// geometries measure different cells, also where they ran on one GPU.
std::string id_of(const record::Report& report) {
  const std::string& uuid = report.device.uuid;
  const std::string id = uuid.empty() ? report.host.name + " " + report.device.id : uuid;
  const bool is_part = report.shard && (uuid.empty() || report.shard->split);
  return is_part ? id + " " + record::shard_text(report.shard->index, 0) : id;
}

// Power and heat are those of the end, when the run had warmed the device up.
Unit unit_of(const report::NamedReport& named) {
  const record::Report& report = named.report;
  Unit unit;
  unit.id = id_of(report);
  unit.host = report.host.name;
  unit.report = named.name;
  unit.started_at = report.started_at;
  unit.complete = report.complete;
  const record::DeviceState& state = report.state_after.value_or(report.state_before);
  unit.temperature_c = state.temperature_c;
  unit.power_w = state.power_w;
  unit.power_limit_w = state.power_limit_w;
  unit.throttle_reasons = state.throttle_reasons;
  unit.other_processes = std::max(report.state_before.other_processes, state.other_processes);
  return unit;
}

// The share of all samples of the report, where clocks are known.
std::optional<double> throttled_share(const record::Report& report) {
  double throttled = 0.0;
  double samples = 0.0;
  for (const record::Measurement& m : report.measurements) {
    if (!m.throttled_samples) continue;
    throttled += static_cast<double>(*m.throttled_samples);
    samples += static_cast<double>(record::sample_count(m));
  }
  return samples > 0.0 ? std::optional(throttled / samples) : std::nullopt;
}

// A whole report is better than a piece of one, then the newer one is.
bool is_better(const Unit& a, const Unit& b) {
  return std::pair(a.complete, a.started_at) >= std::pair(b.complete, b.started_at);
}

LeftOut left_out_for(const Unit& older, const Unit& newer) {
  return {older.report, fmt::format("{} has a {} report, {}", escaped(newer.id),
                                    older.complete == newer.complete ? "newer" : "complete",
                                    escaped(newer.report))};
}

Bound bound_of(const compare::RunValue& value) {
  if (!value.fraction_of_copy) return Bound::kUnknown;
  return *value.fraction_of_copy >= kMemoryBound ? Bound::kMemory : Bound::kOther;
}

std::size_t place_of(std::map<compare::CellKey, std::size_t>& places, Group& group,
                     const compare::RunCell& cell) {
  const auto [place, is_new] = places.try_emplace(cell.key, group.cells.size());
  if (is_new) {
    group.cells.push_back(
        {.name = compare::block_text(cell.key) + "  " + cell.key.variant, .key = cell.key});
  }
  return place->second;
}

void drop_replaced(Group& group) {
  std::erase_if(group.units, [](const Unit& unit) { return unit.id.empty(); });
  for (Unit& unit : group.units) unit.values.resize(group.cells.size());
}

}  // namespace

UnitReport unit_report(const report::NamedReport& named) {
  UnitReport report = {.unit = unit_of(named),
                       .shard = named.report.shard,
                       .kind = named.report.device.kind,
                       .traits = compare::trait_values(named.report, compare::Metric::kTime),
                       .cells = compare::run_cells(named.report, compare::Metric::kTime)};
  report.unit.throttled = throttled_share(named.report);
  return report;
}

void FleetBuilder::add(UnitReport report) {
  if (report.shard) {
    shards_.insert(report.shard->index);
    shard_count_ = std::max(shard_count_, report.shard->count);
  }
  if (!is_dated_well(report) || !replaces_older(report)) return;
  const std::size_t index = kind_of(report);
  Kind& kind = kinds_[index];
  Unit& unit = report.unit;
  for (const compare::RunCell& cell : report.cells) {
    const std::size_t place = place_of(kind.places, kind.group, cell);
    if (cell.state == compare::CellState::kWrong && ++unit.failed == 1) {
      unit.failure = fmt::format("{}: {}", kind.group.cells[place].name, cell.reason);
    }
    if (cell.state != compare::CellState::kMeasured || !cell.value.doubt.empty()) continue;
    FleetCell& known = kind.group.cells[place];
    if (known.bound == Bound::kUnknown) known.bound = bound_of(cell.value);
    unit.values.resize(std::max(unit.values.size(), place + 1));
    unit.values[place] = {cell.value.time_s, cell.value.log_error,
                          cell.value.clock_hz.value_or(0.0)};
  }
  places_[unit.id] = {index, kind.group.units.size()};
  kind.group.units.push_back(std::move(unit));
}

bool FleetBuilder::is_dated_well(const UnitReport& report) {
  const Unit& unit = report.unit;
  const auto day = day_of(unit.started_at);
  const auto today = day_of(dates_.now);
  std::string reason;
  if (!day || !report::seconds_of(unit.started_at)) {
    reason = fmt::format("is dated \"{}\", which is no time of UTC as 2026-11-20T08:30:00Z",
                         escaped(unit.started_at, 40));
  } else if (today && *day > *today + 1) {
    reason = fmt::format("is dated {}, which is to come", unit.started_at);
  } else if (unit.started_at < dates_.since) {
    reason = fmt::format("is dated {}, before {}", unit.started_at, dates_.since);
  }
  if (!reason.empty()) fleet_.refused.push_back({unit.report, reason});
  return reason.empty();
}

// A unit that is gone leaves no newer report; its last one would pass for ever.
void FleetBuilder::refuse_old(Group& group) {
  if (!dates_.since.empty()) return;
  const auto newest =
      day_of(std::ranges::max_element(group.units, {}, &Unit::started_at)->started_at);
  std::erase_if(group.units, [&](const Unit& unit) {
    const auto day = day_of(unit.started_at);
    const bool is_old = day && newest && *newest - *day > kMostDays;
    if (is_old) {
      fleet_.refused.push_back(
          {unit.report, fmt::format("is dated {}, {} days before the newest; --since takes it",
                                    unit.started_at, *newest - *day)});
    }
    return is_old;
  });
}

// Whether `report` is the best of its unit so far; a worse one that is known is given up then.
bool FleetBuilder::replaces_older(const UnitReport& report) {
  const auto known = places_.find(report.unit.id);
  if (known == places_.end()) return true;
  Unit& older = kinds_[known->second.kind].group.units[known->second.unit];
  if (!is_better(report.unit, older)) {
    fleet_.replaced.push_back(left_out_for(report.unit, older));
    return false;
  }
  fleet_.replaced.push_back(left_out_for(older, report.unit));
  older = {};
  return true;
}

// The kind that `report` fits, made for it where there is none. What the kind does not know yet it
// learns from the report.
std::size_t FleetBuilder::kind_of(const UnitReport& report) {
  const auto found = std::ranges::find_if(kinds_, [&](const Kind& kind) {
    return std::equal(kind.traits.begin(), kind.traits.end(), report.traits.begin(),
                      [](const auto& a, const auto& b) { return !differ(a, b); });
  });
  if (found == kinds_.end()) {
    kinds_.push_back({.traits = report.traits, .group = {}, .places = {}});
    kinds_.back().group.kind = report.kind;
    return kinds_.size() - 1;
  }
  for (std::size_t i = 0; i < report.traits.size(); ++i) {
    if (found->traits[i].value.empty()) found->traits[i].value = report.traits[i].value;
  }
  return static_cast<std::size_t>(found - kinds_.begin());
}

void FleetBuilder::refuse(const Kind& kind, const Kind& chosen) {
  const std::string reason = difference_text(kind.traits, chosen.traits);
  for (const Unit& unit : kind.group.units) fleet_.refused.push_back({unit.report, reason});
}

std::vector<std::string> FleetBuilder::missing_shards() const {
  constexpr std::int64_t kMostNamed = 1000;  // any report may say that there are billions
  const std::int64_t count =
      shard_count_ - std::distance(shards_.begin(), shards_.lower_bound(shard_count_));
  std::vector<std::string> missing;
  for (int index = 0; std::ssize(missing) < std::min(count, kMostNamed); ++index) {
    if (!shards_.contains(index)) missing.push_back(record::shard_text(index, shard_count_));
  }
  if (count > kMostNamed) missing.push_back(fmt::format("{} more shards", count - kMostNamed));
  return missing;
}

Fleet FleetBuilder::finish(const std::vector<std::string>& by) {
  std::map<std::vector<std::string>, std::vector<Kind*>> families;
  for (Kind& kind : kinds_) {
    drop_replaced(kind.group);
    kind.group.facts = facts_of(kind.traits);
    if (!kind.group.units.empty()) families[values_of(kind.traits, by)].push_back(&kind);
  }
  for (auto& [values, family] : families) {
    Kind* chosen = *std::ranges::max_element(
        family, [](Kind* a, Kind* b) { return a->group.units.size() < b->group.units.size(); });
    for (const Kind* kind : family) {
      if (kind != chosen) refuse(*kind, *chosen);
    }
    refuse_old(chosen->group);
    fleet_.groups.push_back(std::move(chosen->group));
  }
  fleet_.missing = missing_shards();
  Fleet fleet = std::move(fleet_);
  *this = {};
  return fleet;
}

bool is_date(const std::string& word) {
  return day_of(word).has_value();
}

std::vector<std::string> group_words() {
  std::vector<std::string> words = compare::difference_names();
  std::erase_if(
      words, [](const std::string& word) { return word == "uuid" || word.ends_with("baseline"); });
  words.emplace_back(kCommit);
  return words;
}

std::vector<std::string> missing_units(const Fleet& fleet, const std::string& expected,
                                       const std::string& source) {
  std::map<std::string, std::size_t> found;  // by UUID and by host
  for (const Group& group : fleet.groups) {
    for (const Unit& unit : group.units) {
      ++found[unit.id];
      ++found[unit.host];
    }
  }
  std::vector<std::string> missing;
  std::istringstream lines(expected);
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    std::istringstream words(line);
    std::string name;
    std::string rest;
    long count = 1;
    if (!(words >> name) || name.starts_with('#')) continue;
    if (words >> std::ws && !words.eof() && (!(words >> count) || count < 1 || words >> rest)) {
      throw Error(
          ErrorKind::kInput,
          "{}:{}: found \"{}\", wanted a UUID or a host, and after a host how many units it has",
          escaped(source), number, escaped(line));
    }
    const auto wanted = static_cast<std::size_t>(count);
    if (found[name] >= wanted) continue;
    missing.push_back(wanted == 1 ? name : fmt::format("{} ({} of {})", name, found[name], wanted));
  }
  return missing;
}

namespace {

// What one file comes to.
struct ReadReport {
  std::optional<UnitReport> report;
  std::string problem;  // why there is none
};

ReadReport read_one(const std::string& path) {
  try {
    return {unit_report(report::read_report(path)), ""};
  } catch (const Error& error) {
    std::string problem = error.what();
    const std::string prefix = escaped(path) + ": ";  // the path is told beside it
    return {std::nullopt, problem.starts_with(prefix) ? problem.substr(prefix.size()) : problem};
  }
}

// Reads in parallel and adds in order: a few reports are in memory at once, and the result does not
// depend on threads.
void add_reports(FleetBuilder& builder, std::span<const std::string> paths) {
  const std::size_t batch = 8 * static_cast<std::size_t>(hardware_threads());
  while (!paths.empty()) {
    const auto files = paths.first(std::min(batch, paths.size()));
    std::vector<ReadReport> read(files.size());
    parallel_for(std::ssize(read), 1, [&](std::int64_t first, std::int64_t last) {
      for (auto i = static_cast<std::size_t>(first); i < static_cast<std::size_t>(last); ++i) {
        read[i] = read_one(files[i]);
      }
    });
    for (std::size_t i = 0; i < read.size(); ++i) {
      if (read[i].report) {
        builder.add(std::move(*read[i].report));
      } else {
        builder.add_unread({files[i], read[i].problem});
      }
    }
    paths = paths.subspan(files.size());
  }
}

}  // namespace

Fleet merge_reports(const std::vector<std::string>& paths, const std::vector<std::string>& by,
                    const FleetDates& dates) {
  FleetBuilder builder(dates);
  add_reports(builder, paths);
  return builder.finish(by);
}

std::string left_out_text(const char* what, const std::vector<LeftOut>& reports) {
  constexpr std::size_t kMostNamed = 20;
  std::string text;
  for (std::size_t i = 0; i < std::min(reports.size(), kMostNamed); ++i) {
    text += fmt::format("{}: {}: {}\n", what, escaped(reports[i].report), reports[i].reason);
  }
  if (reports.size() > kMostNamed) {
    text += fmt::format("{}: {} more\n", what, reports.size() - kMostNamed);
  }
  return text;
}

std::string merge_text(const Fleet& fleet) {
  std::string text = left_out_text("refused", fleet.refused) +
                     left_out_text("replaced", fleet.replaced) +
                     left_out_text("not read", fleet.unread);
  for (const std::string& name : fleet.missing) {
    text += fmt::format("missing: {}\n", escaped(name));
  }
  for (const Group& group : fleet.groups) {
    text += fmt::format("merged: {} with {}\n", text::format_count(std::ssize(group.units), "unit"),
                        text::format_count(std::ssize(group.cells), "cell"));
  }
  if (!fleet.refused.empty()) {
    text +=
        "Refused reports differ in what times depend on; --by NAME puts those that differ in NAME "
        "into a group of their own.\n";
  }
  return text;
}

}  // namespace nf4bench::fleet
