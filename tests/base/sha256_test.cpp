#include "base/sha256.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace nf4bench {
namespace {

void update(Sha256& hash, std::string_view text) {
  hash.update(std::as_bytes(std::span(text)));
}

std::string hash_of(std::string_view text) {
  Sha256 hash;
  update(hash, text);
  return hash.hex();
}

// The examples of FIPS 180-2, appendix B.
TEST(Sha256, ReproducesThePublishedExamples) {
  EXPECT_EQ(hash_of("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(hash_of("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(hash_of(std::string(1'000'000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, HashesNothing) {
  EXPECT_EQ(Sha256().hex(), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

// As "printf abc | openssl dgst -sha256 -binary | base64" prints it.
TEST(Sha256, IsWrittenInBase64AsWell) {
  Sha256 hash;
  update(hash, "abc");
  EXPECT_EQ(hash.base64(), "ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=");
}

TEST(Sha256, PiecesGiveTheHashOfTheWhole) {
  Sha256 hash;
  update(hash, "a");
  update(hash, "");
  EXPECT_EQ(hash.hex(), hash_of("a"));  // asking does not end it
  update(hash, "bc");
  EXPECT_EQ(hash.hex(), hash_of("abc"));
  EXPECT_EQ(hash.hex(), hash_of("abc"));
}

}  // namespace
}  // namespace nf4bench
