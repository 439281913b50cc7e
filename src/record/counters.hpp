#pragma once

// What was counted while a kernel ran, and what limits it.

#include "base/field.hpp"
#include "base/words.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace nf4bench::record {

// How a kernel is launched, and what its blocks take of a multiprocessor.

// What a multiprocessor has no more of when it holds as many blocks of a kernel as it can.
enum class Resource : std::uint8_t { kWarps, kBlocks, kRegisters, kShared };

constexpr auto words(Resource /*any*/) {
  using enum Resource;
  return std::to_array<Word<Resource>>(
      {{kWarps, "warps"}, {kBlocks, "blocks"}, {kRegisters, "registers"}, {kShared, "shared"}});
}

// What is not known is absent.
struct Launch {
  std::optional<std::int64_t> grid{};          // blocks
  std::optional<std::int64_t> block{};         // threads of one
  std::optional<std::int64_t> registers{};     // that a thread is given, a multiple of 8
  std::optional<std::int64_t> shared_bytes{};  // of a block, static and dynamic
  std::optional<double> waves{};      // of blocks: the grid over what all multiprocessors hold
  std::optional<double> occupancy{};  // warps that one holds at once, of those that it has room for
  std::optional<Resource> occupancy_limit{};
};

template <Is<Launch> Launched, class F>
void fields(Launched& l, F&& f) {
  f("grid", l.grid);
  f("block", l.block);
  f("registers", l.registers);
  f("shared_bytes", l.shared_bytes);
  f("waves", l.waves);
  f("occupancy", l.occupancy);
  f("occupancy_limit", l.occupancy_limit);
}

// "32 registers, 4096 blocks of 256 threads, 3.88 waves, 100 % of a multiprocessor's warps".
std::string text_of(const Launch& launch);

// What keeps a multiprocessor from holding more than half of its warps at once, with its numbers:
// "128 registers a thread leave room for 25 % of a multiprocessor's warps". Empty where nothing
// does, or it is not known.
std::string why_few_warps(const Launch& launch);

// What keeps the kernels of a call from being faster, as far as counters tell.
enum class Limit : std::uint8_t {
  kUnknown,  // nothing stands out, or it was not counted
  kDram,
  kL2,
  kShared,   // conflicts over banks of shared memory
  kAlu,      // the pipe of bits, integers and conversions
  kTensor,   // the pipe of tensor cores
  kIssue,    // schedulers that issue whenever they can
  kLatency,  // warps that wait, and no unit is busy
  kLaunch,   // what any kernel and its launch cost
};

constexpr auto words(Limit /*any*/) {
  using enum Limit;
  return std::to_array<Word<Limit>>({{kUnknown, "unknown"},
                                     {kDram, "dram"},
                                     {kL2, "l2"},
                                     {kShared, "shared"},
                                     {kAlu, "alu"},
                                     {kTensor, "tensor"},
                                     {kIssue, "issue"},
                                     {kLatency, "latency"},
                                     {kLaunch, "launch"}});
}

// Why warps do not issue, as Nsight Compute calls it ("long_scoreboard"), and for how many of the
// cycles between two instructions of a warp.
struct Stall {
  std::string reason;
  double cycles = 0.0;
};

// What a profiler counted in the kernels of one call: sums over them, and shares, means weighted
// by their time. What a GPU does not count is absent.
struct Counters {
  std::int64_t kernels = 0;
  std::optional<double> seconds{};  // that they take
  std::optional<double> dram_fraction{};
  std::optional<std::int64_t> dram_bytes_read{};
  std::optional<std::int64_t> dram_bytes_written{};
  std::optional<double> l2_fraction{};
  std::optional<double> l2_hit_fraction{};  // of its sectors
  std::optional<std::int64_t> shared_conflicts{};
  std::optional<std::int64_t> shared_wavefronts{};  // conflicts are among them
  std::optional<double> issue_fraction{};
  std::optional<double> tensor_fraction{};
  std::optional<double> alu_fraction{};
  std::optional<double> warps_fraction{};      // active, of those that there is room for
  std::optional<std::int64_t> instructions{};  // of warps
  std::vector<Stall> stalls{};                 // the longest first; issuing is none
  std::optional<double> issue_cycles{};  // between two instructions of a warp, stalls included
  std::optional<Launch> launch{};        // of the kernel that takes longest
  Limit limit = Limit::kUnknown;
  std::string judgement{};    // in words; empty where nothing was counted
  std::string unavailable{};  // why nothing was; empty when it was
};

// What is known of the call that was counted.
struct CountedCall {
  std::int64_t bytes_read = 0;     // that it needs
  std::int64_t elements = 0;       // of the weight
  std::optional<double> time_s{};  // its median, as it was timed without a profiler
};

struct Judgement {
  Limit limit = Limit::kUnknown;
  std::string text;  // one sentence
};

// A unit that is so busy limits a kernel: the rules of Nsight Compute call for less work there from
// 80 % on, and speak of latency where nothing reaches 60 %.
inline constexpr double kBusy = 0.8;
inline constexpr double kHalfBusy = 0.6;

Judgement limit_of(const Counters& counters, const CountedCall& call);

// The judgement, and how the kernel is launched: "DRAM limits it: 91 % of its peak. It has 32
// registers, ...", without an end.
std::string text_of(const Counters& counters);

// Conflicts over banks, of all wavefronts of shared memory, where they are so many that without
// them it would serve a third more; none where they are few, or were not counted.
std::optional<double> many_conflicts(const Counters& counters);

}  // namespace nf4bench::record
