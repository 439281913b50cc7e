// The flagship: one kernel, whose configuration is chosen from the device and the size of the job.
// Launch::config forces one by name.

#include "cuda/dequantize/fused_planes.cuh"
#include "cuda/dequantize/fused_tile.cuh"
#include "cuda/dequantize/fused_wide.cuh"
#include "cuda/dequantize/variants.hpp"

#include <cstring>

namespace nf4bench::kernels::cuda {
namespace {

struct Config {
  const char* name;
  void (*launch)(const Job& job, const Launch& launch);
};

// Byte planes: fewest instructions for 16-bit outputs. wide: the shuffle table, for float32, whose
// results would fill too many planes. See docs/variants.md for what is measured and what is
// reasoned.
enum { kPlanes128, kPlanes256, kPlanes128x64, kWide128, kWide256, kTile128x2, kConfigCount };

constexpr Config kConfigs[kConfigCount] = {
    {"planes128", launch_fused_planes<128, 32>},
    {"planes256", launch_fused_planes<256, 32>},
    {"planes128x64", launch_fused_planes<128, 64>},
    {"wide128", launch_fused_wide<128>},
    {"wide256", launch_fused_wide<256>},
    {"tile128x2", launch_fused_tile<ShuffleDecoder, StreamingAccess, 128, 2>},
};

constexpr const char* kConfigNames[] = {"planes128", "planes256", "planes128x64", "wide128",
                                        "wide256",   "tile128x2", nullptr};
static_assert(sizeof(kConfigNames) / sizeof(kConfigNames[0]) == kConfigCount + 1);

const Config* find_config(const char* name) {
  for (const Config& config : kConfigs) {
    if (std::strcmp(config.name, name) == 0) return &config;
  }
  return nullptr;
}

const Config& choose_config(const Job& job, const DeviceFacts& device) {
  const bool is_large = job.elements > std::int64_t{96} << 20;
  if (job.output_type == OutputType::kFloat32) return kConfigs[is_large ? kWide256 : kWide128];
  // Turing rounds in software or slowly: a table a 64 elements halves that.
  if (device.compute_capability == 75) return kConfigs[kPlanes128x64];
  return kConfigs[is_large ? kPlanes256 : kPlanes128];
}

const char* unsupported(const Problem& problem, const DeviceFacts&) {
  return problem.elements < std::int64_t{1} << 37 ? nullptr : "needs fewer than 2^37 weights";
}

void launch_fused(const Job& job, const Launch& launch) {
  const Config* forced = launch.config != nullptr ? find_config(launch.config) : nullptr;
  (forced != nullptr ? *forced : choose_config(job, launch.device)).launch(job, launch);
}

}  // namespace

Variant fused() {
  Variant variant;
  variant.name = "fused";
  variant.summary = "fused; configuration chosen from the device and the size";
  variant.traits.inline_ptx = true;
  variant.traits.cache_hints = true;
  variant.traits.mirrors = "adaptive-backend solution of the Unsloth challenge";
  variant.unsupported = unsupported;
  variant.launch = launch_fused;
  variant.configs = kConfigNames;
  return variant;
}

}  // namespace nf4bench::kernels::cuda
