#include "cuda/matmul/costs.hpp"

#include "cuda/cards.hpp"
#include "cuda/matmul/float16_tokens.hpp"
#include "cuda/matmul/linear/linear_plan.hpp"
#include "cuda/matmul/ring/ring_choice.hpp"
#include "cuda/matmul/wgmma/config.hpp"

#include <algorithm>

namespace nf4bench::kernels::cuda {
namespace {

// Sustained rates: of clocks and peaks, what long kernels reach.
struct DeviceRates {
  double clock = 0.0;  // cycles a nanosecond
  double bytes = 0.0;  // of memory, a nanosecond
  // Multiplications and additions of 16-bit tensor cores with float32 sums, a nanosecond and
  // multiprocessor: of mma.sync, and what a BLAS reaches.
  double mma = 0.0;
  double blas = 0.0;
};

constexpr double kH200Clock = 1.755;  // cycles a nanosecond, under load

// Bytes a nanosecond.
double peak_bytes(const DeviceFacts& device) {
  if (device.memory_bytes_per_s > 0) return device.memory_bytes_per_s / 1e9;
  const Card& card = nearest_card(device);
  const double share = static_cast<double>(device.multiprocessors) / card.facts.multiprocessors;
  return card.facts.memory_bytes_per_s / 1e9 * share;
}

DeviceRates rates_of(const DeviceFacts& device) {
  constexpr double kOfClock = 0.886;
  constexpr double kOfMemory = 0.86;
  const Card& card = nearest_card(device);
  DeviceRates rates;
  rates.clock = card.clock_hz / 1e9 * kOfClock;
  rates.bytes = peak_bytes(device) * kOfMemory;
  rates.mma = card.mma * rates.clock;
  rates.blas = card.blas * rates.clock;
  return rates;
}

// Of the weight, its scales, the activations and the outputs, or of the decoded weight.
double bytes_moved(const Problem& problem) {
  const double scales = static_cast<double>(problem.blocks) * (problem.nested ? 1.0 : 4.0);
  const auto elements = static_cast<double>(problem.elements);
  const double rows =
      static_cast<double>(problem.tokens) * static_cast<double>(problem.inputs + problem.outputs);
  const double values = problem.tokens > 0 ? rows : elements;
  return elements / 2 + scales + values * static_cast<double>(size_in_bytes(problem.output_type));
}

double traffic_ns(const Problem& problem, const DeviceRates& rates) {
  return bytes_moved(problem) / rates.bytes;
}

// `h200_ns` on an H200, where instructions are what takes the time.
double scaled_ns(double h200_ns, const DeviceRates& rates) {
  return h200_ns * kH200Clock / rates.clock;
}

// Of a kernel that spends `cycles` of a multiprocessor on each weight.
double instructions_ns(const Problem& problem, const DeviceFacts& device, double cycles) {
  return static_cast<double>(problem.elements) * cycles /
         (rates_of(device).clock * device.multiprocessors);
}

// What tensor cores take at the rate that a BLAS reaches. For bfloat16 on Turing it has none of
// them, but 64 lanes of float32 a multiprocessor.
double products_ns(const Problem& problem, const DeviceFacts& device) {
  const DeviceRates rates = rates_of(device);
  const double rate = takes_float16_tokens(problem, device) ? 64 * rates.clock : rates.blas;
  return static_cast<double>(problem.elements) * static_cast<double>(problem.tokens) /
         (rate * device.multiprocessors);
}

// Of the launch before products of bfloat16 on Turing, which reads tokens twice and writes them.
double float16_tokens_ns(const Problem& problem, const DeviceFacts& device) {
  if (!takes_float16_tokens(problem, device)) return 0;
  constexpr double kCallNs = 3000;
  const DeviceRates rates = rates_of(device);
  const double bytes = 6.0 * static_cast<double>(problem.tokens * problem.inputs);
  return scaled_ns(kCallNs, rates) + bytes / rates.bytes;
}

}  // namespace

// Activations become integers first: in each block, of whole rows, while the weight is on its way.
// Where shared memory cannot hold the sums of all of a multiprocessor's rows, several blocks follow
// each other on it.
double mma_linear_ns(const Problem& problem, const DeviceFacts& device) {
  const bool is_hopper = device.compute_capability >= 90;
  const bool is_vector = problem.tokens == 1;
  const DeviceRates rates = rates_of(device);
  struct Costs {
    double call_ns, an_input_ns, cycles;
  };
  constexpr Costs kVector[] = {{3400, 0.16, 0.034}, {2200, 0.16, 0.027}};
  constexpr Costs kTokens[] = {{2300, 0.65, 0.043}, {2200, 0.36, 0.033}};
  const auto [call_ns, an_input_ns, cycles] = (is_vector ? kVector : kTokens)[is_hopper ? 1 : 0];
  const PlannedUnits planned =
      is_vector ? plan_vector(problem, device) : plan_tokens(problem, device);
  const auto rounds = static_cast<double>(block_count(planned.grid.blocks, device.multiprocessors));
  const double first_ns = call_ns + rounds * an_input_ns * static_cast<double>(problem.inputs);
  const double read_ns = is_hopper ? 1800 : 3200;
  return std::max(scaled_ns(first_ns, rates) + instructions_ns(problem, device, cycles),
                  scaled_ns(read_ns, rates) + traffic_ns(problem, rates));
}

double gemv_shuffle_ns(const Problem& problem, const DeviceFacts& device) {
  const DeviceRates rates = rates_of(device);
  return 3500 + std::max(traffic_ns(problem, rates), instructions_ns(problem, device, 0.097));
}

// It decodes the weight again for each tile of tokens.
double mma_table_ns(const Problem& problem, const DeviceFacts& device) {
  const DeviceRates rates = rates_of(device);
  const bool is_turing = device.compute_capability < 80;
  const bool is_ragged = problem.inputs % 32 != 0;
  const std::int64_t tile = !is_turing ? 64 : is_ragged ? 8 : 16;
  const std::int64_t tokens = std::min(problem.tokens, tile);
  // Ragged rows take 22 instructions a weight, of which Turing's multiprocessors have half the
  // lanes.
  const double others = tokens <= 16 ? 0.08 : tokens <= 32 ? 0.13 : 0.165;
  const double scales = problem.block_shift == 5 ? 1.3 : 1.0;
  const double cycles = (is_turing && is_ragged ? 0.25 : others) * scales;
  const auto passes = static_cast<double>(block_count(problem.tokens, tile));
  const double instructions = instructions_ns(problem, device, cycles) * passes;
  const double products = static_cast<double>(problem.elements) * passes *
                          static_cast<double>(tile) / (rates.mma * device.multiprocessors);
  return 7000 + float16_tokens_ns(problem, device) +
         std::max({traffic_ns(problem, rates), instructions, products});
}

double mma_ring_ns(const Problem& problem, const DeviceFacts& device) {
  constexpr double kCallNs = 3600;
  const DeviceRates rates = rates_of(device);
  const RingShapeSet set = ring_shape_set({.device = device});
  const std::int64_t first = first_ring_tokens(problem, set);
  double launches_ns = 0;
  for (const std::int64_t tokens : {first, problem.tokens - first}) {
    if (tokens == 0) continue;
    Problem part = problem;
    part.tokens = tokens;
    launches_ns += with_ring_choice(part, set, [&](auto choice) {
      using Choice = decltype(choice);
      using Shape = typename Choice::Shape;
      const StagePlan plan = plan_ring<Choice>(part, device);
      constexpr double kStageProducts = double{Shape::kRows} * Shape::kTokens * Shape::kInputs;
      const double stages_ns = scaled_ns(static_cast<double>(time_of(plan, Choice::kCosts)), rates);
      const double products = static_cast<double>(stages_of(plan)) * kStageProducts / rates.mma;
      return scaled_ns(kCallNs, rates) + std::max({stages_ns, products, traffic_ns(part, rates)});
    });
  }
  return launches_ns + float16_tokens_ns(problem, device);
}

double wgmma_decode_ns(const Problem& problem, const DeviceFacts& device) {
  const DeviceRates rates = rates_of(device);
  const WgmmaConfig& config = kWgmmaConfigs[choose_wgmma(problem)];
  constexpr double kOfTraffic = 0.92;  // its tiles read less evenly
  // Each input of a weight that lies transposed has scales of its own to look up.
  constexpr double kNestedTransposed = 1.12;
  const double scales = problem.transposed && problem.nested ? kNestedTransposed : 1.0;
  const StagePlan plan = plan_wgmma(config, problem, device.multiprocessors);
  const double stages_ns =
      scaled_ns(static_cast<double>(time_of(plan, config.costs)) * scales, rates);
  return scaled_ns(config.call_ns, rates) + std::max({stages_ns, products_ns(problem, device),
                                                      traffic_ns(problem, rates) / kOfTraffic});
}

double decode_blas_ns(const Problem& problem, const DeviceFacts& device) {
  constexpr double kCallsNs = 7000;
  constexpr double kOfTraffic = 0.96;
  const DeviceRates rates = rates_of(device);
  const auto elements = static_cast<double>(problem.elements);
  const double bytes = rates.bytes * kOfTraffic;
  // Of a decoded weight that fits into the cache a part comes from there.
  const double decoded = elements * 2;
  const auto cache = static_cast<double>(device.l2_bytes);
  const double read = decoded > cache ? decoded : std::max(0.0, decoded - cache / 4);
  return kCallsNs + (elements * 0.516 + decoded) / bytes +
         std::max(read / bytes, products_ns(problem, device));
}

double resident_blas_ns(const Problem& problem, const DeviceFacts& device) {
  constexpr double kCallNs = 4500;
  constexpr double kOfMemory = 0.94;  // it does nothing but read
  const double read_ns =
      static_cast<double>(problem.elements) * 2 / (peak_bytes(device) * kOfMemory);
  return kCallNs + std::max(read_ns, products_ns(problem, device));
}

// Before Hopper no launch begins before its predecessor has ended.
double dequantize_ns(const Problem& problem, const DeviceFacts& device) {
  constexpr double kOfMemory = 0.842;  // it reads and writes
  // Of a weight, as tests/gpu/sass_budget.json allows: 6 instructions, of which a multiprocessor
  // issues 128 lanes a cycle.
  constexpr double kCycles = 6.0 / 128;
  const double call_ns = device.compute_capability >= 90 ? 1450 : 3000;
  const double memory_ns = bytes_moved(problem) / (peak_bytes(device) * kOfMemory);
  return call_ns + std::max(memory_ns, instructions_ns(problem, device, kCycles));
}

Roof roof_of(const Problem& problem, const DeviceFacts& device) {
  const Card& card = nearest_card(device);
  const double products =
      static_cast<double>(problem.elements) * static_cast<double>(problem.tokens);
  return {bytes_moved(problem) / peak_bytes(device),
          products / (card.tensor * card.clock_hz / 1e9 * device.multiprocessors)};
}

}  // namespace nf4bench::kernels::cuda
