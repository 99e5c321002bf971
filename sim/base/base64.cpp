#include "sim/base/base64.hpp"

#include <algorithm>
#include <cstdint>
#include <string_view>

namespace stagecraft {

std::string base64(std::span<const std::byte> bytes) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  constexpr std::size_t kGroup = 3;
  std::string text;
  text.reserve((bytes.size() + kGroup - 1) / kGroup * 4);
  for (std::size_t i = 0; i < bytes.size(); i += kGroup) {
    const std::size_t taken = std::min(kGroup, bytes.size() - i);
    std::uint32_t group = 0;
    for (std::size_t j = 0; j < kGroup; ++j) {
      group = group << 8U | (j < taken ? std::to_integer<std::uint32_t>(bytes[i + j]) : 0U);
    }
    for (std::size_t j = 0; j <= kGroup; ++j) {
      text.push_back(j <= taken ? kDigits[group >> 6U * (kGroup - j) & 63U] : '=');
    }
  }
  return text;
}

}  // namespace stagecraft
