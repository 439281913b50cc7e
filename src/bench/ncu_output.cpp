#include "base/parsed.hpp"
#include "bench/counting.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace nf4bench::bench {
namespace {

// The table that "ncu --csv --page raw" prints.

// A kernel that was counted: its values by the names of the metrics, in bytes, seconds, shares of 1
// and counts. What is no number ("n/a"), or of a unit that is not known, is not among them.
using NcuKernel = std::map<std::string, double>;

using Words = std::vector<std::string>;

// The words of a line of CSV; a quote within quotes is written twice.
Words words_in(const std::string& line) {
  Words words(1);
  bool is_quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char letter = line[i];
    if (letter == '"') {
      const bool is_double = is_quoted && i + 1 < line.size() && line[i + 1] == '"';
      if (is_double) words.back() += line[++i];
      if (!is_double) is_quoted = !is_quoted;
    } else if (letter == ',' && !is_quoted) {
      words.emplace_back();
    } else if (letter != '\r') {
      words.back() += letter;
    }
  }
  return words;
}

// How much one of `unit` is of bytes, seconds, a whole or a count, each also per something else
// ("byte/block"); empty: nobody knows.
std::optional<double> scale_of(const std::string& unit) {
  struct Unit {
    std::string_view name;
    double scale;
  };
  constexpr std::array kUnits = {
      Unit{"", 1.0},       Unit{"%", 0.01},       Unit{"byte", 1.0},     Unit{"Kbyte", 1e3},
      Unit{"Mbyte", 1e6},  Unit{"Gbyte", 1e9},    Unit{"Tbyte", 1e12},   Unit{"inst", 1.0},
      Unit{"Kinst", 1e3},  Unit{"Minst", 1e6},    Unit{"Ginst", 1e9},    Unit{"warp", 1.0},
      Unit{"cycle", 1.0},  Unit{"nsecond", 1e-9}, Unit{"usecond", 1e-6}, Unit{"msecond", 1e-3},
      Unit{"second", 1.0}, Unit{"ns", 1e-9},      Unit{"us", 1e-6},      Unit{"ms", 1e-3},
      Unit{"s", 1.0},      Unit{"block", 1.0},    Unit{"thread", 1.0},   Unit{"register", 1.0}};
  const auto* const found =
      std::ranges::find(kUnits, std::string_view(unit).substr(0, unit.find('/')), &Unit::name);
  return found == kUnits.end() ? std::nullopt : std::optional(found->scale);
}

// "1,234.5"; empty for "n/a", "nan" and the like, and what is below zero.
std::optional<double> number_in(std::string text) {
  std::erase(text, ',');
  const auto value = parsed<double>(text);
  return value && std::isfinite(*value) && *value >= 0.0 ? value : std::nullopt;
}

NcuKernel kernel_in(const Words& names, const Words& units, const Words& words) {
  NcuKernel kernel;
  const std::size_t columns = std::min({names.size(), units.size(), words.size()});
  for (std::size_t i = 0; i < columns; ++i) {
    const std::optional<double> scale = scale_of(units[i]);
    const std::optional<double> value = number_in(words[i]);
    if (!scale || !value) continue;
    // Divided, a share of 91.2 % is 0.912 and not the number next to it.
    kernel[names[i]] = *scale < 1.0 ? *value / std::round(1.0 / *scale) : *value * *scale;
  }
  return kernel;
}

// Those of all tables in `text`.
std::vector<NcuKernel> ncu_kernels_in(const std::string& text) {
  std::vector<NcuKernel> kernels;
  Words names;
  Words units;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("\"ID\",")) {
      names = words_in(line);
      units.clear();
    } else if (!names.empty() && line.starts_with('"')) {
      const Words words = words_in(line);
      if (units.empty()) {
        units = words;
      } else {
        kernels.push_back(kernel_in(names, units, words));
      }
    }
  }
  return kernels;
}

using Kernel = NcuKernel;
using record::Counters;
using record::Launch;
using record::Resource;

constexpr char kDuration[] = "gpu__time_duration.sum";
constexpr char kStallBegin[] = "smsp__average_warps_issue_stalled_";
constexpr char kStallEnd[] = "_per_issue_active.ratio";

constexpr double kMostCounted = 9e18;  // of what fits into 64 bits

// Of warps that issue, and need not wait.
constexpr char kSelected[] = "selected";

struct ShareMetric {
  const char* name;
  std::optional<double> Counters::*member;
};

// Where two are for one member, the first that a GPU has counts: Turing has no cycles of its tensor
// pipe.
constexpr std::array kShares = {
    ShareMetric{"dram__throughput.avg.pct_of_peak_sustained_elapsed", &Counters::dram_fraction},
    ShareMetric{"lts__throughput.avg.pct_of_peak_sustained_elapsed", &Counters::l2_fraction},
    ShareMetric{"lts__t_sector_hit_rate.pct", &Counters::l2_hit_fraction},
    ShareMetric{"sm__issue_active.avg.pct_of_peak_sustained_elapsed", &Counters::issue_fraction},
    ShareMetric{"sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed",
                &Counters::tensor_fraction},
    ShareMetric{"sm__inst_executed_pipe_tensor.avg.pct_of_peak_sustained_elapsed",
                &Counters::tensor_fraction},
    ShareMetric{"sm__pipe_alu_cycles_active.avg.pct_of_peak_sustained_elapsed",
                &Counters::alu_fraction},
    ShareMetric{"sm__warps_active.avg.pct_of_peak_sustained_active", &Counters::warps_fraction}};

template <class Owner>
struct CountMetric {
  const char* name;
  std::optional<std::int64_t> Owner::*member;
};

constexpr std::array kSums = {
    CountMetric<Counters>{"dram__bytes_read.sum", &Counters::dram_bytes_read},
    CountMetric<Counters>{"dram__bytes_write.sum", &Counters::dram_bytes_written},
    CountMetric<Counters>{"l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum",
                          &Counters::shared_conflicts},
    CountMetric<Counters>{"l1tex__data_pipe_lsu_wavefronts_mem_shared.sum",
                          &Counters::shared_wavefronts},
    CountMetric<Counters>{"smsp__inst_executed.sum", &Counters::instructions}};

constexpr std::array kLaunch = {
    CountMetric<Launch>{"launch__grid_size", &Launch::grid},
    CountMetric<Launch>{"launch__block_size", &Launch::block},
    CountMetric<Launch>{"launch__registers_per_thread", &Launch::registers}};

// What launch__shared_mem_per_block has besides is the system's.
constexpr std::array kSharedParts = {"launch__shared_mem_per_block_static",
                                     "launch__shared_mem_per_block_dynamic"};

constexpr char kWaves[] = "launch__waves_per_multiprocessor";
constexpr char kOccupancy[] = "sm__maximum_warps_per_active_cycle_pct";

struct RoomMetric {
  const char* name;
  Resource resource;
};

// Blocks that a multiprocessor would hold if there was nothing else to be short of. Of equal ones
// the first counts: where warps have run out, too, less of the others would not help.
constexpr std::array kRooms = {
    RoomMetric{"launch__occupancy_limit_warps", Resource::kWarps},
    RoomMetric{"launch__occupancy_limit_blocks", Resource::kBlocks},
    RoomMetric{"launch__occupancy_limit_registers", Resource::kRegisters},
    RoomMetric{"launch__occupancy_limit_shared_mem", Resource::kShared}};

constexpr std::array kStalls = {"barrier",
                                "branch_resolving",
                                "dispatch_stall",
                                "drain",
                                "gmma",
                                "imc_miss",
                                "lg_throttle",
                                "long_scoreboard",
                                "membar",
                                "mio_throttle",
                                "misc",
                                "math_pipe_throttle",
                                "not_selected",
                                "no_instruction",
                                "short_scoreboard",
                                kSelected,
                                "sleeping",
                                "tex_throttle",
                                "wait"};

std::string stall_metric(const std::string& reason) {
  return kStallBegin + reason + kStallEnd;
}

std::optional<double> value_of(const Kernel& kernel, const std::string& metric) {
  const auto found = kernel.find(metric);
  return found == kernel.end() ? std::nullopt : std::optional(found->second);
}

// Of all kernels; of some alone it would be too little.
std::optional<double> sum_of(const std::vector<Kernel>& kernels, const std::string& metric) {
  double sum = 0.0;
  for (const Kernel& kernel : kernels) {
    const std::optional<double> value = value_of(kernel, metric);
    if (!value) return std::nullopt;
    sum += *value;
  }
  return sum;
}

// Weighted by the time of those that have it; of one alone what it has, to the last bit.
std::optional<double> mean_of(const std::vector<Kernel>& kernels, const std::string& metric) {
  double mean = 0.0;
  double weights = 0.0;
  for (const Kernel& kernel : kernels) {
    const std::optional<double> value = value_of(kernel, metric);
    if (!value) continue;
    const double weight = value_of(kernel, kDuration).value_or(1.0);
    weights += weight;
    if (weights > 0.0) mean += (*value - mean) * (weight / weights);
  }
  return weights > 0.0 ? std::optional(mean) : std::nullopt;
}

void add_stalls(const std::vector<Kernel>& kernels, Counters& counters) {
  double all = 0.0;
  for (const char* const reason : kStalls) {
    const std::optional<double> cycles = mean_of(kernels, stall_metric(reason));
    if (!cycles || *cycles == 0.0) continue;
    all += *cycles;
    if (reason != std::string_view(kSelected)) counters.stalls.push_back({reason, *cycles});
  }
  if (all > 0.0) counters.issue_cycles = all;
  std::ranges::stable_sort(counters.stalls, std::greater(), &record::Stall::cycles);
}

std::optional<Resource> first_to_run_out(const Kernel& kernel) {
  const RoomMetric* least = nullptr;
  for (const RoomMetric& each : kRooms) {
    if (!kernel.contains(each.name)) return std::nullopt;
    if (least == nullptr || kernel.at(each.name) < kernel.at(least->name)) least = &each;
  }
  return least->resource;
}

// Of the kernel that takes longest.
Launch launch_of(const std::vector<Kernel>& kernels) {
  const Kernel& longest = *std::ranges::max_element(
      kernels, {}, [](const Kernel& each) { return value_of(each, kDuration).value_or(0.0); });
  Launch launch;
  const auto count = [&](const char* metric) -> std::optional<std::int64_t> {
    const std::optional<double> value = value_of(longest, metric);
    return value && *value < kMostCounted ? std::optional(std::llround(*value)) : std::nullopt;
  };
  for (const auto& each : kLaunch) launch.*each.member = count(each.name);
  const auto fixed = count(kSharedParts[0]);
  const auto dynamic = count(kSharedParts[1]);
  if (fixed && dynamic) launch.shared_bytes = *fixed + *dynamic;
  launch.waves = value_of(longest, kWaves);
  launch.occupancy = value_of(longest, kOccupancy);
  launch.occupancy_limit = first_to_run_out(longest);
  return launch;
}

bool is_of_name(char letter) {
  return letter == '_' || std::isalnum(static_cast<unsigned char>(letter)) != 0;
}

// Whether `line` has `name` with nothing around it that would make it another one.
bool mentions(std::string_view line, std::string_view name) {
  for (std::size_t at = line.find(name); at != line.npos; at = line.find(name, at + 1)) {
    const std::size_t end = at + name.size();
    const bool begins = at == 0 || !is_of_name(line[at - 1]);
    if (begins && (end == line.size() || !is_of_name(line[end]))) return true;
  }
  return false;
}

}  // namespace

const std::vector<std::string>& ncu_metrics() {
  static const std::vector<std::string> all = [] {
    std::vector<std::string> metrics = {kDuration};
    for (const ShareMetric& each : kShares) metrics.emplace_back(each.name);
    for (const auto& each : kSums) metrics.emplace_back(each.name);
    for (const char* const reason : kStalls) metrics.push_back(stall_metric(reason));
    for (const auto& each : kLaunch) metrics.emplace_back(each.name);
    for (const RoomMetric& each : kRooms) metrics.emplace_back(each.name);
    metrics.insert(metrics.end(), kSharedParts.begin(), kSharedParts.end());
    metrics.insert(metrics.end(), {kWaves, kOccupancy});
    return metrics;
  }();
  return all;
}

std::optional<record::Counters> counters_in(const std::string& text) {
  const std::vector<Kernel> kernels = ncu_kernels_in(text);
  if (kernels.empty()) return std::nullopt;
  Counters counters;
  counters.kernels = static_cast<std::int64_t>(kernels.size());
  counters.seconds = sum_of(kernels, kDuration);
  for (const ShareMetric& each : kShares) {
    if (!(counters.*each.member)) counters.*each.member = mean_of(kernels, each.name);
  }
  for (const auto& each : kSums) {
    const std::optional<double> sum = sum_of(kernels, each.name);
    if (sum && *sum < kMostCounted) counters.*each.member = std::llround(*sum);
  }
  add_stalls(kernels, counters);
  counters.launch = launch_of(kernels);
  return counters;
}

// It may be told as a pattern, "regex:^dram__bytes_read\.(sum|avg)$": what stands before the first
// dot is enough.
std::vector<std::string> refused_metrics(const std::string& text,
                                         const std::vector<std::string>& metrics) {
  std::vector<std::string> refused;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("==ERROR==")) continue;
    for (const std::string& metric : metrics) {
      if (mentions(line, metric.substr(0, metric.find('.')))) refused.push_back(metric);
    }
  }
  return refused;
}

}  // namespace nf4bench::bench
