#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace nf4bench {

// Lower-case hexadecimal SHA-256, computed piece by piece (OpenSSL's libcrypto).
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;
  void update(std::span<const std::byte> bytes);
  std::string hex();

 private:
  void* context_;
};

}  // namespace nf4bench
