#include "sim/base/base64.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace stagecraft {

TEST_CASE("base64: the vectors of RFC 4648, section 10") {
  const std::vector<std::pair<std::string_view, std::string>> vectors{
      {"", ""},
      {"f", "Zg=="},
      {"fo", "Zm8="},
      {"foo", "Zm9v"},
      {"foob", "Zm9vYg=="},
      {"fooba", "Zm9vYmE="},
      {"foobar", "Zm9vYmFy"},
  };
  for (const auto& [text, coded] : vectors) CHECK(base64(std::as_bytes(std::span(text))) == coded);
}

TEST_CASE("base64: numbers are their bytes, the lowest first") {
  CHECK(base64(std::vector<std::uint32_t>{1, 0xfffefdfcU}) == "AQAAAPz9/v8=");
  CHECK(base64(std::vector<double>{1.0}) == "AAAAAAAA8D8=");
}

}  // namespace stagecraft
