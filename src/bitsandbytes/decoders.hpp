#pragma once

#include "bitsandbytes/bitsandbytes.hpp"

#include <functional>

namespace nf4bench::bitsandbytes {

// The symbols of Decoders, and the build that has them, in words.
struct DecoderNames {
  const char* absmax = "";
  std::array<const char*, 3> weight = {};
  const char* build = "";
};

// True when `library` exports any of `names`.
bool has_decoders(const SharedLibrary& library, const DecoderNames& names);

// Throws Error(kInput) with those of `names` that are missing.
Decoders find_decoders(const SharedLibrary& library, const DecoderNames& names);

// How the decoders are called on a kind of device.
struct Decoding {
  using Call = std::function<void(const kernels::Job& job, const kernels::Launch& launch)>;

  Call scales;           // into the workspace; nothing of a plain job
  Call weight;           // decodes it by scales_of()
  kernels::Variant all;  // what variants have in common, with the workspace
  const char* chain_summary = "";
  const char* decode_summary = "";
};

// cuda_variants().
std::vector<kernels::Variant> decoding_variants(const Decoding& decoding, const char* chain_name,
                                                const char* decode_name);

// The scales of a plain `job`, or those that were decoded into the workspace of a nested one.
inline const float* scales_of(const kernels::Job& job) {
  return job.nested ? static_cast<const float*>(job.workspace) : job.absmax;
}

inline int blocksize_of(const kernels::Problem& problem) {
  return 1 << problem.block_shift;
}

}  // namespace nf4bench::bitsandbytes
