#include "sim/io/sha256.hpp"

#include "sim/base/error.hpp"

#include <openssl/evp.h>

#include <array>

namespace stagecraft {

std::string sha256(std::string_view text) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int length = 0;
  const int done = EVP_Digest(text.data(), text.size(), digest.data(), &length, EVP_sha256(), nullptr);
  STAGECRAFT_CHECK(done == 1, "libcrypto computes SHA-256");
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string result;
  for (unsigned int i = 0; i < length; ++i) {
    result += kHex[digest[i] >> 4U];
    result += kHex[digest[i] & 15U];
  }
  return result;
}

}  // namespace stagecraft
