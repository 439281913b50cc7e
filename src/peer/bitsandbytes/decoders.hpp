#pragma once

#include "peer/shared_library.hpp"
#include "variant.hpp"

#include <array>

namespace nf4bench::peer {

// Functions of bitsandbytes that dequantize; every build for a kind of device has all of them.
struct Decoders {
  void* decode_absmax = nullptr;            // scales of a nested tensor
  std::array<void*, 3> decode_weight = {};  // by OutputType
};

// Their symbols, and the build that has them, in words.
struct DecoderNames {
  const char* absmax = "";
  std::array<const char*, 3> weight = {};
  const char* build = "";
};

// True when `library` exports any of `names`.
bool has_decoders(const SharedLibrary& library, const DecoderNames& names);

// Throws Error(kInput) with those of `names` that are missing.
Decoders find_decoders(const SharedLibrary& library, const DecoderNames& names);

// `job` with the scales that were decoded before in the place of those that a call decodes itself.
inline kernels::Job with_prepared_scales(kernels::Job job) {
  job.workspace = job.prepared;
  return job;
}

}  // namespace nf4bench::peer
