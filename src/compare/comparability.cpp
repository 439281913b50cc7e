#include "compare/comparability.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string_view>

namespace nf4bench::compare {
namespace {

// Which metrics cannot be compared across a difference.
enum class Matters : std::uint8_t { kAlways, kForTime, kNever };

struct Trait {
  const char* name;
  Matters matters;
  std::string (*value)(const record::Report& report);  // empty when it is not known
};

std::string switch_text(std::optional<bool> value) {
  return value ? (*value ? "on" : "off") : "";
}

std::string clock_text(std::optional<double> clock_hz) {
  return clock_hz && *clock_hz > 0.0 ? fmt::format("{:.0f} MHz", *clock_hz / 1e6) : "";
}

// Idle memory may clock down: the higher of before and after is that of the measurements.
std::optional<double> memory_clock(const record::Report& report) {
  std::optional<double> clock = report.state_before.memory_clock_hz;
  if (report.state_after && report.state_after->memory_clock_hz) {
    clock = std::max(clock.value_or(0.0), *report.state_after->memory_clock_hz);
  }
  return clock;
}

// The input data decide how much power the memory draws; the order of the tensors does not matter.
std::string data_text(const record::Report& report) {
  std::vector<std::string> hashes;
  for (const record::ReportTensor& tensor : report.tensors)
    hashes.push_back(tensor.sha256.substr(0, 8));
  std::ranges::sort(hashes);
  std::string text = fmt::format("{}", fmt::join(hashes, " "));
  return text.size() > 40 ? text.substr(0, 40) + "..." : text;
}

// Of a GPU. Some of it is set aside for ECC and pages that were retired: whole GiB are the model's.
std::string memory_text(const record::Report& report) {
  if (report.device.kind != record::DeviceKind::kCuda) return "";
  constexpr double kGiB = 1024.0 * 1024.0 * 1024.0;
  return fmt::format("{:.0f} GiB", static_cast<double>(report.device.memory_bytes) / kGiB);
}

std::string commit_text(const record::Report& report) {
  const record::ToolInfo& tool = report.tool;
  return tool.git_commit.empty() ? "" : tool.git_commit.substr(0, 12) + (tool.git_dirty ? "+" : "");
}

// How far cold buffers rotate decides what is left in the cache when they come round again.
std::string rotation_text(const record::Report& report) {
  const std::vector<record::CacheMode>& caches = report.settings.caches;
  const bool is_cold = std::ranges::find(caches, record::CacheMode::kCold) != caches.end();
  return is_cold ? fmt::format("{} caches", report.settings.caches_rotated) : "";
}

// A device that rests between samples keeps clocks that it cannot hold for long.
std::string duty_text(const record::Report& report) {
  return fmt::format("{:.3g} %", report.settings.duty * 100.0);
}

// GPUs that work at the same time share the power and the cooling of their machine.
std::string together_text(const record::Report& report) {
  const std::optional<int> together = report.settings.together;
  if (!together) return "";
  return *together > 1 ? fmt::format("{} devices", *together) : "alone";
}

// What a name stood for: "mine 2ee5f7c0".
std::string peers_text(const record::Report& report) {
  std::vector<std::string> texts;
  for (const record::PeerFile& peer : report.peers) {
    if (!peer.sha256.empty()) texts.push_back(peer.name + ' ' + peer.sha256.substr(0, 8));
  }
  return fmt::format("{}", fmt::join(texts, ", "));
}

constexpr char kMatmul[] = "matmul";
constexpr char kExperts[] = "experts";
constexpr char kBackward[] = "backward";

bool has_operation(const record::Report& report, const std::string& operation) {
  const auto& all = report.settings.operations;
  if (all.empty()) return operation == record::kDequantize;  // before there were others
  return std::ranges::any_of(all, [&](const auto& each) { return each.name == operation; });
}

std::string baseline_text(const record::Report& report, const std::string& operation) {
  if (!has_operation(report, operation)) return "";
  return record::baseline_of(report.settings, operation);
}

// Files of one name may differ; whether they do, nobody can say here.
std::string activations_text(const record::Report& report) {
  const auto is_of_report = [&](const char* each) { return has_operation(report, each); };
  if (std::ranges::none_of(std::array{kMatmul, kExperts, kBackward}, is_of_report)) return "";
  const record::Settings& settings = report.settings;
  return fmt::format("{}{}", to_string(settings.activations),
                     settings.cold_activations ? ", cold" : "");
}

// Who is chosen decides how many bytes a call reads.
std::string routing_text(const record::Report& report) {
  const std::optional<record::ExpertChoice>& experts = report.settings.experts;
  if (!experts) return "";
  return experts->top_k > 0 ? fmt::format("{}, top {}", experts->routing, experts->top_k)
                            : experts->routing;
}

const std::vector<Trait>& traits() {
  static const std::vector<Trait> kTraits = {
      {"device", Matters::kAlways, [](const record::Report& r) { return r.device.name; }},
      {"uuid", Matters::kForTime, [](const record::Report& r) { return r.device.uuid; }},
      {"processors", Matters::kAlways,
       [](const record::Report& r) { return fmt::format("{}", r.device.multiprocessors); }},
      {"memory", Matters::kForTime, memory_text},
      {"mig", Matters::kAlways, [](const record::Report& r) { return switch_text(r.device.mig); }},
      {"simd", Matters::kAlways, [](const record::Report& r) { return r.device.simd; }},
      {"build_type", Matters::kAlways, [](const record::Report& r) { return r.tool.build_type; }},
      {"rotation", Matters::kAlways, rotation_text},
      {"duty", Matters::kForTime, duty_text},
      {"driver", Matters::kForTime, [](const record::Report& r) { return r.device.driver; }},
      {"ecc", Matters::kForTime, [](const record::Report& r) { return switch_text(r.device.ecc); }},
      {"max_sm_clock", Matters::kForTime,
       [](const record::Report& r) { return clock_text(r.state_before.max_sm_clock_hz); }},
      {"memory_clock", Matters::kForTime,
       [](const record::Report& r) { return clock_text(memory_clock(r)); }},
      {"power_limit", Matters::kForTime,
       [](const record::Report& r) {
         const std::optional<double> watts = r.state_before.power_limit_w;
         return watts ? fmt::format("{:.0f} W", *watts) : std::string();
       }},
      {"together", Matters::kForTime, together_text},
      {"runtime", Matters::kNever, [](const record::Report& r) { return r.device.runtime; }},
      {"compiler", Matters::kNever, [](const record::Report& r) { return r.tool.compiler; }},
      {"host", Matters::kNever, [](const record::Report& r) { return r.host.name; }},
      {"commit", Matters::kNever, commit_text},
      {"activations", Matters::kAlways, activations_text},
      {"routing", Matters::kAlways, routing_text},
      {"baseline", Matters::kNever,
       [](const record::Report& r) { return baseline_text(r, record::kDequantize); }},
      {"matmul_baseline", Matters::kNever,
       [](const record::Report& r) { return baseline_text(r, kMatmul); }},
      {"experts_baseline", Matters::kNever,
       [](const record::Report& r) { return baseline_text(r, kExperts); }},
      {"backward_baseline", Matters::kNever,
       [](const record::Report& r) { return baseline_text(r, kBackward); }},
      {"data", Matters::kNever, data_text},
      {"peers", Matters::kNever, peers_text},
  };
  return kTraits;
}

std::vector<std::string> values_of(const std::vector<report::NamedReport>& reports,
                                   const Trait& trait) {
  std::vector<std::string> values;
  for (const report::NamedReport& each : reports) {
    std::string value = trait.value(each.report);
    if (!value.empty() && std::ranges::find(values, value) == values.end()) {
      values.push_back(std::move(value));
    }
  }
  return values;
}

bool differ(const std::vector<std::string>& base, const std::vector<std::string>& fresh) {
  if (base.size() > 1 || fresh.size() > 1) return true;
  return base.size() == 1 && fresh.size() == 1 && base != fresh;
}

// A speedup refers to a variant of its own run: another one makes it another quantity.
bool matters_for(const Trait& trait, Metric metric) {
  if (std::string_view(trait.name).ends_with("baseline")) return metric == Metric::kSpeedup;
  return trait.matters == Matters::kAlways ||
         (trait.matters == Matters::kForTime && is_cost(metric));
}

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

}  // namespace

const std::vector<std::string>& difference_names() {
  static const std::vector<std::string> kNames = [] {
    std::vector<std::string> names;
    for (const Trait& trait : traits()) {
      if (trait.matters != Matters::kNever) names.emplace_back(trait.name);
    }
    names.insert(names.end(),
                 {"baseline", "matmul_baseline", "experts_baseline", "backward_baseline"});
    return names;
  }();
  return kNames;
}

std::vector<TraitValue> trait_values(const record::Report& report, Metric metric) {
  std::vector<TraitValue> values;
  for (const Trait& trait : traits()) {
    values.push_back({trait.name, trait.value(report), matters_for(trait, metric)});
  }
  return values;
}

std::vector<Difference> find_differences(const std::vector<report::NamedReport>& base,
                                         const std::vector<report::NamedReport>& fresh,
                                         Metric metric, const std::vector<std::string>& allowed) {
  std::vector<Difference> differences;
  for (const Trait& trait : traits()) {
    Difference difference = {.name = trait.name,
                             .base = values_of(base, trait),
                             .fresh = values_of(fresh, trait),
                             .matters = matters_for(trait, metric),
                             .allowed = contains(allowed, trait.name)};
    if (differ(difference.base, difference.fresh)) differences.push_back(std::move(difference));
  }
  return differences;
}

bool is_comparable(const std::vector<Difference>& differences) {
  return std::ranges::none_of(differences,
                              [](const Difference& each) { return each.matters && !each.allowed; });
}

Spread spread_of(const std::vector<Difference>& differences) {
  const bool is_one = std::ranges::none_of(differences, [](const Difference& each) {
    return each.name == "uuid" || each.name == "device";
  });
  return is_one ? Spread::kOneDevice : Spread::kSeveralDevices;
}

std::string difference_text(const Difference& difference) {
  const auto text = [](const std::vector<std::string>& values) {
    return values.empty() ? std::string("unknown") : fmt::format("{}", fmt::join(values, " and "));
  };
  return fmt::format("{}: base {}, new {}", difference.name, text(difference.base),
                     text(difference.fresh));
}

}  // namespace nf4bench::compare
