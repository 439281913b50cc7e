#include "trying/hints.hpp"

#include "record/counters.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <vector>

namespace nf4bench::trying {
namespace {

constexpr std::int64_t kWarp = 32;
// Times what fused needs. An H200 issues about as many (132 multiprocessors, four warps a cycle at
// 1.98 GHz) while its memory moves an element of 16 bits.
constexpr double kFarMore = 3.0;
constexpr double kNearCopy = 0.8;  // of the rate of a copy: memory is what limits it

// What hints are made of.
struct Known {
  const TriedCell& cell;
  record::Launch launch;
  int multiprocessors = 0;
};

// Of several kernels the worst.
std::string spills(const Known& known) {
  const peer::KernelFacts* worst = known.cell.kernel ? &*known.cell.kernel : nullptr;
  for (const peer::KernelFacts& each : known.cell.kernels) {
    if (worst == nullptr || each.spill_bytes > worst->spill_bytes) worst = &each;
  }
  if (worst == nullptr || worst->spill_bytes == 0) return "";
  return fmt::format(
      "{} spills {} bytes a thread to memory: let a thread hold fewer values at a time, or raise "
      "its limit of registers",
      known.cell.kernel ? "it" : worst->name, worst->spill_bytes);
}

std::string idle_lanes(const Known& known) {
  const std::int64_t lanes = known.launch.block.value_or(0) % kWarp;
  if (lanes == 0) return "";
  return fmt::format(
      "of the last warp of its blocks of {} threads {} have nothing to do: take a multiple of {}",
      *known.launch.block, kWarp - lanes, kWarp);
}

std::string idle_multiprocessors(const Known& known) {
  const std::int64_t grid = known.launch.grid.value_or(known.multiprocessors);
  if (grid >= known.multiprocessors) return "";
  return fmt::format(
      "{} of {} multiprocessors have none of its blocks, which are {}: let a block do less, and "
      "have more of them",
      known.multiprocessors - grid, known.multiprocessors, grid);
}

// Many fast kernels have few warps: what was counted knows whether they are too few.
std::string few_warps(const Known& known) {
  const auto& counters = known.cell.counters;
  const bool is_counted = counters && counters->kernels > 0;
  if (is_counted && counters->limit != record::Limit::kLatency) return "";
  const std::string reason = record::why_few_warps(known.launch);
  if (reason.empty()) return "";
  return fmt::format("its {}: {}", reason,
                     is_counted
                         ? "with less of that, more of them hide what others wait for"
                         : "less of that helps where latency limits it, which --why would tell");
}

std::string bank_conflicts(const Known& known) {
  const auto share =
      known.cell.counters ? record::many_conflicts(*known.cell.counters) : std::optional<double>();
  if (!share) return "";
  return fmt::format(
      "{:.0f} % of its wavefronts of shared memory are conflicts over banks: pad its rows, or "
      "permute their columns, so that lanes of a warp take different banks",
      *share * 100.0);
}

std::string many_instructions(const Known& known) {
  const TriedCell& cell = known.cell;
  const auto mix = cell.kernel ? cell.kernel->instructions : std::optional<peer::InstructionMix>();
  if (!mix || mix->issued < kFarMore * kInstructionsOfFused) return "";
  const bool is_counted = cell.counters && cell.counters->kernels > 0;
  const bool is_their_fault = is_counted && (cell.counters->limit == record::Limit::kIssue ||
                                             cell.counters->limit == record::Limit::kAlu);
  if (is_counted ? !is_their_fault : cell.fraction_of_copy.value_or(0.0) >= kNearCopy) return "";
  return fmt::format(
      "it takes {:.1f} instructions an element, and fused no more than {:.0f}: look several codes "
      "up at once, and store 16 bytes at a time{}",
      mix->issued, kInstructionsOfFused,
      is_counted ? "" : ", which helps where instructions limit it, as --why would tell");
}

constexpr std::array kHints = {spills,    idle_lanes,     idle_multiprocessors,
                               few_warps, bank_conflicts, many_instructions};

}  // namespace

// What ran is known better than what was to be launched.
std::string hint_for(const TriedCell& cell, int multiprocessors) {
  Known known = {.cell = cell, .launch = {}, .multiprocessors = multiprocessors};
  if (cell.kernel && cell.kernel->launch) known.launch = *cell.kernel->launch;
  if (cell.counters && cell.counters->launch) known.launch = *cell.counters->launch;
  std::vector<std::string> hints;
  for (const auto& hint : kHints) {
    if (std::string words = hint(known); !words.empty()) hints.push_back(std::move(words));
  }
  return fmt::format("{}", fmt::join(hints, "; "));
}

}  // namespace nf4bench::trying
