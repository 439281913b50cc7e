#pragma once

#include "activation.hpp"
#include "variant.hpp"

namespace nf4bench::kernels::cuda {

void launch_activation(const Activation& of, const Launch& launch);

}  // namespace nf4bench::kernels::cuda
