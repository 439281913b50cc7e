#include "cuda/cards.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace nf4bench::kernels::cuda {
namespace {

constexpr std::int64_t kMi = std::int64_t{1} << 20;

// {compute capability, multiprocessors, L2, memory}, clock, tensor, mma, blas. What a BLAS uses are
// 95 % of mma.sync, and of wgmma 74 %, as an H200 has in long products under its limit of power.
constexpr Card kCards[] = {
    {"T4", {75, 40, 4 * kMi, 320e9}, 1.59e9, 512, 512, 485},
    {"A100 40 GB", {80, 108, 40 * kMi, 1555e9}, 1.41e9, 1024, 1024, 970},
    {"A100 80 GB", {80, 108, 40 * kMi, 2039e9}, 1.41e9, 1024, 1024, 970},
    {"RTX 3060", {86, 28, 3 * kMi, 360e9}, 1.78e9, 256, 256, 243},
    {"A10", {86, 72, 6 * kMi, 600e9}, 1.70e9, 512, 512, 485},
    {"RTX 3090", {86, 82, 6 * kMi, 936e9}, 1.70e9, 256, 256, 243},
    {"RTX 4060 Ti", {89, 34, 32 * kMi, 288e9}, 2.54e9, 256, 256, 243},
    {"L4", {89, 58, 48 * kMi, 300e9}, 2.04e9, 512, 512, 485},
    {"RTX 4090", {89, 128, 72 * kMi, 1008e9}, 2.52e9, 256, 256, 243},
    {"L40S", {89, 142, 96 * kMi, 864e9}, 2.52e9, 512, 512, 485},
    // mma.sync has two thirds of the rate of wgmma, as measured on an H200.
    {"H100", {90, 132, 50 * kMi, 3350e9}, 1.98e9, 2048, 1347, 1515},
    {"H200", {90, 132, 50 * kMi, 4915e9}, 1.98e9, 2048, 1347, 1515},
    {"B200", {100, 148, 126 * kMi, 8000e9}, 1.97e9, 4096, 1347, 3030},
    {"RTX 5090", {120, 170, 96 * kMi, 1792e9}, 2.41e9, 256, 256, 243},
    {"RTX PRO 6000", {120, 188, 128 * kMi, 1792e9}, 2.60e9, 512, 512, 485},
};

}  // namespace

std::span<const Card> known_cards() {
  return kCards;
}

const Card& nearest_card(const DeviceFacts& device) {
  const int capability =
      device.card_capability != 0 ? device.card_capability : device.compute_capability;
  const Card* nearest = kCards;
  const auto distance = [&](const Card& card) {
    return std::abs(card.facts.multiprocessors - device.multiprocessors);
  };
  for (const Card& card : kCards) {
    if (card.facts.compute_capability > capability) break;
    const bool is_newer = card.facts.compute_capability > nearest->facts.compute_capability;
    if (is_newer || distance(card) < distance(*nearest)) nearest = &card;
  }
  return *nearest;
}

}  // namespace nf4bench::kernels::cuda
