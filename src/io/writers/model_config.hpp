#pragma once

#include <string>
#include <string_view>

namespace nf4bench::io {

// The types that the config.json of a decoded model is to name, as "bfloat16".
struct ConfigTypes {
  std::string wanted;   // instead of the one that is there; empty: keep that
  std::string decoded;  // instead of one that weights cannot have
};

// The config.json of a quantized model as that of the decoded one: without quantization_config, and
// with the type that `types` says in torch_dtype or dtype, both wherever they stand. All else keeps
// its bytes. Throws Error(kInput) that begins with `where` for what is not one JSON object; the NaN
// and Infinity of Python are let through.
std::string decoded_config(const std::string& where, std::string_view text,
                           const ConfigTypes& types);

}  // namespace nf4bench::io
