// The flagship: one kernel, whose configuration is chosen from the device and the size of the job.
// Launch::config forces one by name.

#include <cstring>

#include "dequantize/variants.hpp"
#include "fused_tile.cuh"
#include "fused_wide.cuh"

namespace nf4bench::cuda {
namespace {

struct Config {
  const char* name;
  void (*launch)(const Job& job, const Launch& launch);
};

constexpr Config kWide = {"wide128", launch_fused_wide<Decoding, 128>};
constexpr Config kAhead = {"ahead128x2", launch_fused_ahead<Decoding, 128, 2>};
constexpr Config kTile = {"tile128x2", launch_fused_tile<ShuffleDecoder, StreamingAccess, 128, 2>};

constexpr Config kConfigs[] = {
    kWide,
    {"wide256", launch_fused_wide<Decoding, 256>},
    {"wide512", launch_fused_wide<Decoding, 512>},
    kAhead,
    {"ahead192x2", launch_fused_ahead<Decoding, 192, 2>},
    {"ahead256x2", launch_fused_ahead<Decoding, 256, 2>},
    kTile,
};

const Config* find_config(const char* name) {
  for (const Config& config : kConfigs) {
    if (std::strcmp(config.name, name) == 0) return &config;
  }
  return nullptr;
}

const Config& choose_config(const Job& job, const DeviceFacts&) {
  return job.elements <= (std::int64_t{96} << 20) ? kWide : kAhead;
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
  variant.unsupported = always_supported;
  variant.workspace_bytes = no_workspace;
  variant.launch = launch_fused;
  return variant;
}

}  // namespace nf4bench::cuda
