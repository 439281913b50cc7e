#include "nf4/fingerprint.hpp"

#include "base/sha256.hpp"

#include <span>

namespace nf4bench::nf4 {

std::string fingerprint(const Nf4Tensor& tensor) {
  Sha256 hash;
  hash.update(std::as_bytes(std::span(tensor.packed)));
  if (tensor.is_nested()) {
    hash.update(std::as_bytes(std::span(tensor.absmax_codes)));
    hash.update(std::as_bytes(std::span(tensor.nested_absmax)));
    hash.update(std::as_bytes(std::span(tensor.nested_map)));
    hash.update(std::as_bytes(std::span(&tensor.nested_offset, 1)));
  } else {
    hash.update(std::as_bytes(std::span(tensor.absmax)));
  }
  return hash.hex();
}

}  // namespace nf4bench::nf4
