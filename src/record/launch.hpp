#pragma once

// How a kernel is launched, and what its blocks take of a multiprocessor.

#include "base/field.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace nf4bench::record {

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

}  // namespace nf4bench::record
