#include "record/counters.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <functional>
#include <vector>

namespace nf4bench::record {
namespace {

constexpr double kThreadsOfWarp = 32.0;

// Units this near to the busiest are named, too: without it they would be next. Again a rule of
// Nsight Compute.
constexpr double kNextBusy = 0.1;

// A kernel takes a microsecond or two if it does nothing: of a shorter one than this, half is that.
constexpr double kShortKernelS = 4e-6;

// A call of which the kernels take less than this share is mostly launching. A profiler's clocks
// are not those of the timing, but never so far from them.
constexpr double kKernelsShareOfCall = 0.5;

constexpr double kManyConflicts = 0.25;

// A reason that takes so much of the time between two instructions stands out.
constexpr double kLongStall = 1.0 / 3.0;

// A part of the GPU, and how busy it is.
struct Unit {
  Limit limit = Limit::kUnknown;
  const char* name = "";
  double fraction = 0.0;
};

std::string percent(double fraction) {
  return fmt::format("{:.0f} %", fraction * 100.0);
}

std::string microseconds(double seconds) {
  return fmt::format("{:.3g} us", seconds * 1e6);
}

// Those that were counted, the busiest first.
std::vector<Unit> units_of(const Counters& c) {
  std::vector<Unit> units;
  const auto add = [&](Limit limit, const char* name, const std::optional<double>& fraction) {
    if (fraction) units.push_back({limit, name, *fraction});
  };
  add(Limit::kDram, "DRAM", c.dram_fraction);
  add(Limit::kL2, "L2", c.l2_fraction);
  add(Limit::kTensor, "the tensor pipe", c.tensor_fraction);
  add(Limit::kAlu, "the ALU pipe", c.alu_fraction);
  add(Limit::kIssue, "issuing instructions", c.issue_fraction);
  std::ranges::stable_sort(units, std::greater(), &Unit::fraction);
  return units;
}

// What a warp waits for.
std::string words_of(const std::string& reason) {
  struct Words {
    const char* reason;
    const char* words;
  };
  constexpr std::array kWords = {Words{"long_scoreboard", "what it loads from global memory"},
                                 Words{"short_scoreboard", "what it loads from shared memory"},
                                 Words{"mio_throttle", "the queue of shared memory"},
                                 Words{"lg_throttle", "the queue of global memory"},
                                 Words{"tex_throttle", "the queue of textures"},
                                 Words{"barrier", "other warps at a barrier"},
                                 Words{"membar", "a memory fence"},
                                 Words{"math_pipe_throttle", "a pipe that is busy"},
                                 Words{"gmma", "products of the tensor cores"},
                                 Words{"wait", "instructions of fixed length"},
                                 Words{"no_instruction", "its instructions"},
                                 Words{"not_selected", "other warps that issue"},
                                 Words{"drain", "its last stores"},
                                 Words{"sleeping", "the end of a sleep"}};
  const auto* const found = std::ranges::find(kWords, reason, &Words::reason);
  return found == kWords.end() ? reason : fmt::format("{} ({})", found->words, reason);
}

std::optional<double> share_of(const Counters& c, const Stall& stall) {
  if (!c.issue_cycles || *c.issue_cycles <= 0.0) return std::nullopt;
  return stall.cycles / *c.issue_cycles;
}

std::string stall_text(const Counters& c, const Stall& stall) {
  return fmt::format("a warp waits {:.3g} of {:.3g} cycles for {}", stall.cycles,
                     c.issue_cycles.value_or(0.0), words_of(stall.reason));
}

// What else is known of the busiest unit: how much work it has.
std::string load_of(Limit limit, const Counters& c, const CountedCall& call) {
  if (limit == Limit::kDram && c.dram_bytes_read && call.bytes_read > 0) {
    return fmt::format(
        ", and it reads {:.2f} times the bytes that the call needs",
        static_cast<double>(*c.dram_bytes_read) / static_cast<double>(call.bytes_read));
  }
  if (limit == Limit::kL2 && c.l2_hit_fraction) {
    return fmt::format(", and finds {} of its sectors there", percent(*c.l2_hit_fraction));
  }
  const bool is_of_instructions = limit == Limit::kAlu || limit == Limit::kIssue;
  if (is_of_instructions && c.instructions && call.elements > 0) {
    return fmt::format(
        ", with {:.3g} instructions an element",
        kThreadsOfWarp * static_cast<double>(*c.instructions) / static_cast<double>(call.elements));
  }
  return "";
}

Judgement busy(const std::vector<Unit>& units, const Counters& c, const CountedCall& call) {
  const Unit& top = units.front();
  const char* const how = top.fraction >= kBusy ? "limits it" : "is what it uses most";
  std::string text = fmt::format("{} {}: {} of its peak{}", top.name, how, percent(top.fraction),
                                 load_of(top.limit, c, call));
  std::vector<std::string> next;
  for (const Unit& unit : units) {
    if (&unit == &top || unit.fraction < top.fraction - kNextBusy) continue;
    next.push_back(fmt::format("{} {}", unit.name, percent(unit.fraction)));
  }
  if (!next.empty()) text += fmt::format("; near to it: {}", fmt::join(next, ", "));
  return {top.limit, text};
}

std::optional<Judgement> launching(const Counters& c, const CountedCall& call) {
  if (!c.seconds || c.kernels <= 0) return std::nullopt;
  const double mean_s = *c.seconds / static_cast<double>(c.kernels);
  if (mean_s <= kShortKernelS) {
    return Judgement{
        Limit::kLaunch,
        fmt::format("launches limit it: its {} {} {}, about as long as it takes to "
                    "start and end any",
                    c.kernels == 1 ? "kernel" : fmt::format("{} kernels", c.kernels),
                    c.kernels == 1 ? "takes" : "take, on average,", microseconds(mean_s))};
  }
  if (call.time_s && *c.seconds < kKernelsShareOfCall * *call.time_s) {
    return Judgement{Limit::kLaunch,
                     fmt::format("launches limit it: of {} a call its kernels "
                                 "work {}",
                                 microseconds(*call.time_s), microseconds(*c.seconds))};
  }
  return std::nullopt;
}

std::optional<Judgement> conflicts(const Counters& c) {
  const std::optional<double> share = many_conflicts(c);
  if (!share || c.stalls.empty()) return std::nullopt;
  const Stall& longest = c.stalls.front();
  const bool is_for_shared =
      longest.reason == "short_scoreboard" || longest.reason == "mio_throttle";
  if (!is_for_shared) return std::nullopt;
  return Judgement{Limit::kShared,
                   fmt::format("conflicts in shared memory limit it: {} of its wavefronts, and {}",
                               percent(*share), stall_text(c, longest))};
}

std::optional<Judgement> waiting(const Unit& busiest, const Counters& c) {
  if (!c.dram_fraction || !c.issue_fraction || c.stalls.empty()) return std::nullopt;
  const Stall& longest = c.stalls.front();
  if (share_of(c, longest).value_or(0.0) < kLongStall) return std::nullopt;
  std::string text = fmt::format("latency limits it: nothing is busier than {} ({}), and {}",
                                 busiest.name, percent(busiest.fraction), stall_text(c, longest));
  if (c.warps_fraction) {
    text +=
        fmt::format(", with {} of the warps that there is room for", percent(*c.warps_fraction));
  }
  const std::string reason = c.launch ? why_few_warps(*c.launch) : "";
  if (!reason.empty()) {
    text += ": its " + reason;
  } else if (c.launch && c.launch->waves.value_or(1.0) < 1.0) {
    text += fmt::format(": its grid is {:.2g} waves", *c.launch->waves);
  }
  return Judgement{Limit::kLatency, text};
}

}  // namespace

std::string text_of(const Counters& counters) {
  const std::string launch = counters.launch ? text_of(*counters.launch) : "";
  return launch.empty() ? counters.judgement
                        : fmt::format("{}. It has {}", counters.judgement, launch);
}

std::optional<double> many_conflicts(const Counters& counters) {
  if (!counters.shared_conflicts || counters.shared_wavefronts.value_or(0) <= 0) {
    return std::nullopt;
  }
  const double share = static_cast<double>(*counters.shared_conflicts) /
                       static_cast<double>(*counters.shared_wavefronts);
  return share < kManyConflicts ? std::nullopt : std::optional(share);
}

// A unit that is busy is the answer whatever else there is; one that is half so only where nothing
// explains why it is not busier.
Judgement limit_of(const Counters& counters, const CountedCall& call) {
  const std::vector<Unit> units = units_of(counters);
  const double most = units.empty() ? 0.0 : units.front().fraction;
  if (most >= kBusy) return busy(units, counters, call);
  if (auto judgement = launching(counters, call)) return *judgement;
  if (auto judgement = conflicts(counters)) return *judgement;
  if (most >= kHalfBusy) return busy(units, counters, call);
  if (units.empty()) return {Limit::kUnknown, "nothing conclusive: no unit of the GPU was counted"};
  if (auto judgement = waiting(units.front(), counters)) return *judgement;
  return {Limit::kUnknown,
          fmt::format("nothing conclusive: no unit is busier than {} ({}), and no reason to wait "
                      "stands out",
                      units.front().name, percent(units.front().fraction))};
}

namespace {

constexpr double kFewWarps = 0.5;

std::string of_warps(double occupancy) {
  return fmt::format("{:.0f} % of a multiprocessor's warps", occupancy * 100.0);
}

}  // namespace

std::string text_of(const Launch& launch) {
  std::vector<std::string> parts;
  if (launch.registers) parts.push_back(fmt::format("{} registers", *launch.registers));
  if (launch.shared_bytes.value_or(0) > 0) {
    parts.push_back(fmt::format("{} bytes of shared memory", *launch.shared_bytes));
  }
  if (launch.grid && launch.block) {
    parts.push_back(fmt::format("{} blocks of {} threads", *launch.grid, *launch.block));
  }
  if (launch.waves) parts.push_back(fmt::format("{:.3g} waves", *launch.waves));
  if (launch.occupancy) parts.push_back(of_warps(*launch.occupancy));
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string why_few_warps(const Launch& launch) {
  if (!launch.occupancy || *launch.occupancy > kFewWarps || !launch.occupancy_limit) return "";
  const std::string room = "leave room for " + of_warps(*launch.occupancy);
  switch (*launch.occupancy_limit) {
    case Resource::kRegisters:
      return launch.registers ? fmt::format("{} registers a thread {}", *launch.registers, room)
                              : "";
    case Resource::kShared:
      return launch.shared_bytes
                 ? fmt::format("{} bytes of shared memory a block {}", *launch.shared_bytes, room)
                 : "";
    case Resource::kBlocks:
      return launch.block ? fmt::format("blocks of no more than {} threads {}", *launch.block, room)
                          : "";
    case Resource::kWarps:
      break;  // a block that is too large to fit twice
  }
  return "";
}

}  // namespace nf4bench::record
