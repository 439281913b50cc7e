#pragma once

#include "cpu/job_parts.hpp"
#include "variant.hpp"

namespace nf4bench::kernels::cpu {

// Decodes whole blocks, the last one possibly short, with the best instruction set of this machine.
// Outputs go around the caches, so that no line is read only to be overwritten. job.output is
// aligned to 16 bytes, or better to 64.
void decode_blocks(const Job& job, Range blocks);

}  // namespace nf4bench::kernels::cpu
