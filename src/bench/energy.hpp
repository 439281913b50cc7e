#pragma once

#include "device/device.hpp"
#include "record/measurement.hpp"

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>

namespace nf4bench::bench {

// How a batch of calls is made and watched.
struct EnergyBatch {
  std::function<bool()> run_piece;  // makes some calls; false when the batch is to end
  std::int64_t calls_a_piece = 1;
  std::function<std::optional<double>()> counter_j;
  std::function<double()> clock_s;
};

// A piece should take about so long: a batch begins and ends with one.
inline constexpr double kEnergyPieceS = 0.02;

// Runs pieces until the counter has moved, then for a second or more, until it moves again: what
// lies between two moves is known best. Empty when run_piece() ended the batch.
std::optional<record::Energy> measure_energy(const EnergyBatch& batch);

// Watts that the device takes while this program has it open and does nothing; empty when it has no
// counter, or when interrupted.
std::optional<double> idle_power(device::Device& device, const std::atomic<bool>& interrupted);

// About how long such a batch takes.
inline constexpr double kEnergyBatchS = 1.0;
inline constexpr double kMostEnergyBatchS = 3.0;

}  // namespace nf4bench::bench
