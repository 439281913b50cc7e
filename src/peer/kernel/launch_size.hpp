#pragma once

#include "peer/cuda_tools.hpp"
#include "peer/kernel/kernel_source.hpp"
#include "variant.hpp"

#include <array>
#include <cstddef>
#include <optional>
#include <string>

namespace nf4bench::peer {

// Names that expressions may have: sizes of a problem, of the device and "block", the threads.
inline constexpr std::array kSizeNames = {"elements",        "blocks", "blocksize", "outputs",
                                          "inputs",          "tokens", "experts",   "top_k",
                                          "multiprocessors", "block"};
inline constexpr std::size_t kBlockSize = kSizeNames.size() - 1;

// Their values, in the same order.
using Sizes = std::array<double, kSizeNames.size()>;

// All but "block", which is 1.
Sizes sizes_of(const kernels::Problem& problem, const kernels::DeviceFacts& device);

// What "ceil(elements/4096)" comes to: numbers, names, + - * /, brackets, ceil, floor, min and max,
// in double precision. Throws std::invalid_argument saying what is wrong with `text`.
double evaluate(const std::string& text, const Sizes& sizes);

// How a kernel is launched, without its function and arguments. None: an expression comes to
// something that cannot be launched.
std::optional<KernelLaunch> launch_of(const KernelSource& kernel, Sizes sizes);

// Bytes of its workspace; none: its expression comes to no size.
std::optional<double> workspace_of(const KernelSource& kernel, const Sizes& sizes);

}  // namespace nf4bench::peer
