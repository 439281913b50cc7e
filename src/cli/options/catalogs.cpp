#include "cli/options/catalogs.hpp"

#include "catalog.hpp"

#include <algorithm>

namespace nf4bench::cli {

std::vector<Catalog> built_in_catalogs() {
  std::vector<Catalog> catalogs;
#ifdef NF4BENCH_WITH_CUDA
  catalogs.push_back({"cuda", kernels::cuda_variants()});
#endif
  catalogs.push_back({"cpu", kernels::cpu_variants()});
  return catalogs;
}

std::vector<std::string> built_in_variant_names() {
  std::vector<std::string> names;
  for (const Catalog& catalog : built_in_catalogs()) {
    for (const kernels::Variant& variant : catalog.variants) {
      const bool is_known = std::find(names.begin(), names.end(), variant.name) != names.end();
      if (!is_known) names.emplace_back(variant.name);
    }
  }
  return names;
}

}  // namespace nf4bench::cli
