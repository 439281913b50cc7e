#include "base/sha256.hpp"

#include "base/error.hpp"

#include <openssl/evp.h>

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

std::array<unsigned char, 32> Sha256::digest() {
  // Finishing ends a computation, so a copy is finished.
  const Sha256 copy;
  require(EVP_MD_CTX_copy_ex(context_of(copy.context_), context_of(context_)),
          "EVP_MD_CTX_copy_ex");
  std::array<unsigned char, 32> bytes{};
  require(EVP_DigestFinal_ex(context_of(copy.context_), bytes.data(), nullptr),
          "EVP_DigestFinal_ex");
  return bytes;
}

std::string Sha256::hex() {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const unsigned char byte : digest()) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15u];
  }
  return text;
}

std::string Sha256::base64() {
  const std::array<unsigned char, 32> bytes = digest();
  std::array<unsigned char, 45> text{};  // four characters for three bytes, and the end
  const int length = EVP_EncodeBlock(text.data(), bytes.data(), static_cast<int>(bytes.size()));
  return {text.begin(), text.begin() + length};
}

std::string sha256_of(std::string_view text) {
  Sha256 hash;
  hash.update(std::as_bytes(std::span(text)));
  return hash.hex();
}

}  // namespace nf4bench
