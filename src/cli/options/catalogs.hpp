#pragma once

#include "variant.hpp"

#include <string>
#include <vector>

namespace nf4bench::cli {

// The variants this build has for one kind of device, whether such a device is here or not.
struct Catalog {
  std::string device;  // "cuda" or "cpu"
  std::vector<kernels::Variant> variants;
};

// CUDA first; only "cpu" in a build without CUDA.
std::vector<Catalog> built_in_catalogs();

// The names of all of them, each once, in order of appearance.
std::vector<std::string> built_in_variant_names();

}  // namespace nf4bench::cli
