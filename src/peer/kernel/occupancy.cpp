#include "peer/kernel/occupancy.hpp"

#include <algorithm>
#include <array>

namespace nf4bench::peer {
namespace {

// From the CUDA C++ programming guide, "Technical specifications per compute capability".
struct Multiprocessor {
  int compute_capability;
  int warps;
  int blocks;
  std::int64_t shared_kib;
};
constexpr std::array kMultiprocessors = {
    Multiprocessor{70, 64, 32, 96},   Multiprocessor{75, 32, 16, 64},
    Multiprocessor{80, 64, 32, 164},  Multiprocessor{86, 48, 16, 100},
    Multiprocessor{87, 48, 16, 164},  Multiprocessor{89, 48, 24, 100},
    Multiprocessor{90, 64, 32, 228},  Multiprocessor{100, 64, 32, 228},
    Multiprocessor{103, 64, 32, 228}, Multiprocessor{120, 48, 24, 100},
    Multiprocessor{121, 48, 24, 100}};

constexpr int kWarp = 32;
constexpr int kQuarters = 4;                // of a multiprocessor: each has its own registers
constexpr int kRegistersOfQuarter = 16384;  // of all GPUs since 5.0
constexpr int kRegisterUnit = 256;          // a warp gets them in these
constexpr int kAmpere = 80;                 // from here on a block has shared memory of the system

template <typename Number>
constexpr Number rounded_up(Number value, Number unit) {
  return (value + unit - 1) / unit * unit;
}

}  // namespace

std::optional<double> occupancy(int compute_capability, const BlockNeeds& block) {
  const auto* const found =
      std::find_if(kMultiprocessors.begin(), kMultiprocessors.end(),
                   [&](const auto& each) { return each.compute_capability == compute_capability; });
  if (found == kMultiprocessors.end() || block.threads <= 0) return std::nullopt;
  const int warps = (block.threads + kWarp - 1) / kWarp;
  std::int64_t blocks = std::min(found->blocks, found->warps / warps);
  if (block.registers > 0) {
    const int of_warp = rounded_up(block.registers * kWarp, kRegisterUnit);
    const bool fits = of_warp * rounded_up(warps, kQuarters) <= kRegistersOfQuarter * kQuarters;
    const int most = kRegistersOfQuarter / of_warp * kQuarters / warps;
    blocks = std::min<std::int64_t>(blocks, fits ? most : 0);
  }
  const std::int64_t reserved = compute_capability >= kAmpere ? 1024 : 0;
  const std::int64_t unit = compute_capability >= kAmpere ? 128 : 256;
  const std::int64_t shared = rounded_up(block.shared_bytes + reserved, unit);
  if (shared > 0) blocks = std::min(blocks, found->shared_kib * 1024 / shared);
  return static_cast<double>(blocks * warps) / found->warps;
}

}  // namespace nf4bench::peer
