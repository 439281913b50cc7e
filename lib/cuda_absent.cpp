#include "backend.hpp"

namespace nf4bench::lib {

const Backend* cuda_backend() {
  return nullptr;
}

}  // namespace nf4bench::lib
