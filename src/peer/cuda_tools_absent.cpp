#include "peer/cuda_tools.hpp"

namespace nf4bench::peer {

std::optional<CudaTools> cuda_tools() {
  return std::nullopt;
}

}  // namespace nf4bench::peer
