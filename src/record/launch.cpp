#include "record/launch.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

namespace nf4bench::record {
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
