#include "cli/catalogs.hpp"

#include "catalog.hpp"

namespace nf4bench {

std::vector<Catalog> built_in_catalogs() {
  std::vector<Catalog> catalogs;
#ifdef NF4BENCH_WITH_CUDA
  catalogs.push_back({"cuda", cuda_variants()});
#endif
  catalogs.push_back({"cpu", cpu_variants()});
  return catalogs;
}

}  // namespace nf4bench
