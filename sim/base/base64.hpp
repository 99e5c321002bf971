#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

namespace stagecraft {

/// Bytes as text of the alphabet of RFC 4648, section 4, with padding.
[[nodiscard]] std::string base64(std::span<const std::byte> bytes);

/// Numbers as the bytes that this machine keeps them in.
template <class Number>
  requires std::is_arithmetic_v<Number>
[[nodiscard]] std::string base64(const std::vector<Number>& numbers) {
  return base64(std::as_bytes(std::span(numbers)));
}

}  // namespace stagecraft
