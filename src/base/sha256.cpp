#include "base/sha256.hpp"

#include "base/error.hpp"

#include <openssl/evp.h>

#include <array>

namespace nf4bench {
namespace {

EVP_MD_CTX* context_of(void* context) {
  return static_cast<EVP_MD_CTX*>(context);
}

void require(int succeeded, const char* call) {
  if (succeeded == 1) return;
  throw Error(ErrorKind::kDevice, std::string("libcrypto: ") + call +
                                      " failed; does this OpenSSL configuration allow SHA-256?");
}

}  // namespace

Sha256::Sha256() : context_(EVP_MD_CTX_new()) {
  require(context_ != nullptr ? 1 : 0, "EVP_MD_CTX_new");
  const int started = EVP_DigestInit_ex(context_of(context_), EVP_sha256(), nullptr);
  if (started != 1) EVP_MD_CTX_free(context_of(context_));
  require(started, "EVP_DigestInit_ex(SHA-256)");
}

Sha256::~Sha256() {
  EVP_MD_CTX_free(context_of(context_));
}

void Sha256::update(std::span<const std::byte> bytes) {
  require(EVP_DigestUpdate(context_of(context_), bytes.data(), bytes.size()), "EVP_DigestUpdate");
}

std::string Sha256::hex() {
  static constexpr char kDigits[] = "0123456789abcdef";
  // Finishing ends a computation, so a copy is finished: hex() may be called again and again.
  const Sha256 copy;
  require(EVP_MD_CTX_copy_ex(context_of(copy.context_), context_of(context_)),
          "EVP_MD_CTX_copy_ex");
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int length = 0;
  require(EVP_DigestFinal_ex(context_of(copy.context_), digest.data(), &length),
          "EVP_DigestFinal_ex");
  std::string text;
  for (unsigned int i = 0; i < length; ++i) {
    text += kDigits[digest[i] >> 4];
    text += kDigits[digest[i] & 15u];
  }
  return text;
}

}  // namespace nf4bench
