#include "bitsandbytes/decoders.hpp"

#include "base/error.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <vector>

namespace nf4bench::bitsandbytes {

bool has_decoders(const SharedLibrary& library, const DecoderNames& names) {
  return library.find(names.absmax) != nullptr ||
         std::ranges::any_of(names.weight,
                             [&](const char* symbol) { return library.find(symbol) != nullptr; });
}

Decoders find_decoders(const SharedLibrary& library, const DecoderNames& names) {
  Decoders found;
  std::vector<std::string> missing;
  const auto find = [&](const char* symbol) {
    void* const address = library.find(symbol);
    if (address == nullptr) missing.emplace_back(symbol);
    return address;
  };
  found.decode_absmax = find(names.absmax);
  for (std::size_t i = 0; i < names.weight.size(); ++i) {
    found.decode_weight[i] = find(names.weight[i]);
  }
  if (!missing.empty()) {
    throw Error(ErrorKind::kInput, "is bitsandbytes, but lacks {}; wanted {}",
                fmt::join(missing, ", "), names.build);
  }
  return found;
}

std::vector<kernels::Variant> decoding_variants(const Decoding& decoding, const char* chain_name,
                                                const char* decode_name) {
  kernels::Variant chain = decoding.all;
  chain.name = chain_name;
  chain.summary = decoding.chain_summary;
  chain.traits.launches = 3;
  chain.launch = [decoding](const kernels::Job& job, const kernels::Launch& launch) {
    decoding.scales(job, launch);
    decoding.weight(job, launch);
  };

  kernels::Variant decode = decoding.all;
  decode.name = decode_name;
  decode.summary = decoding.decode_summary;
  decode.workspace_bytes = {};
  decode.prepared_bytes = [decoding](const kernels::Problem& problem) {
    return decoding.all.workspace_bytes(problem, {});
  };
  decode.prepare = [decoding](kernels::Job job, const kernels::Launch& launch) {
    job.workspace = job.prepared;
    decoding.scales(job, launch);
  };
  decode.launch = [decoding](kernels::Job job, const kernels::Launch& launch) {
    job.workspace = job.prepared;
    decoding.weight(job, launch);
  };
  return {chain, decode};
}

}  // namespace nf4bench::bitsandbytes
