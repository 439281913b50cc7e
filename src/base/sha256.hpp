#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace nf4bench {

// SHA-256, computed piece by piece (OpenSSL's libcrypto). Asking for it does not end it.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;
  void update(std::span<const std::byte> bytes);
  std::string hex();  // lower case
  std::string base64();

 private:
  std::array<unsigned char, 32> digest();

  void* context_;
};

// In lower case.
std::string sha256_of(std::string_view text);

}  // namespace nf4bench
