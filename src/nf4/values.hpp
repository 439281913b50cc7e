#pragma once

#include "nf4/format.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace nf4bench::nf4 {

// Values of an output type in memory, and the numbers that they stand for.

// Value `index` of `values`, exact.
double value_at(OutputType type, std::span<const std::byte> values, std::int64_t index);

// All of them, exact.
std::vector<double> to_doubles(OutputType type, std::span<const std::byte> values);

// `numbers`, each rounded to float32 and then to `type`, to nearest even.
std::vector<std::byte> to_values(OutputType type, std::span<const double> numbers);

}  // namespace nf4bench::nf4
