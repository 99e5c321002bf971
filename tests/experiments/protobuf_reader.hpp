#pragma once

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace stagecraft::test {

/// A field of a message of Protocol Buffers: a number, or bytes.
struct ProtobufField {
  std::uint32_t number = 0;
  std::uint64_t value = 0;
  std::string_view bytes;
};

inline std::uint64_t read_varint(std::string_view& text) {
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    if (text.empty()) FAIL("the text ends within a number");
    const auto byte = static_cast<unsigned char>(text.front());
    text.remove_prefix(1);
    value |= std::uint64_t{byte & 0x7FU} << shift;
    if (byte < 0x80) return value;
  }
  FAIL("a number of more than ten bytes");
  return value;
}

inline std::string_view read_delimited(std::string_view& text) {
  const std::uint64_t size = read_varint(text);
  REQUIRE(size <= text.size());
  const std::string_view bytes = text.substr(0, size);
  text.remove_prefix(size);
  return bytes;
}

/// All fields of a message, in their order. The bytes are those of `text`.
inline std::vector<ProtobufField> read_message(std::string_view text) {
  std::vector<ProtobufField> fields;
  while (!text.empty()) {
    const std::uint64_t tag = read_varint(text);
    ProtobufField field{.number = static_cast<std::uint32_t>(tag >> 3), .value = 0, .bytes = {}};
    switch (tag & 7U) {
      case 0: field.value = read_varint(text); break;
      case 1:
        REQUIRE(text.size() >= 8);
        for (unsigned i = 0; i < 8; ++i) {
          field.value |= std::uint64_t{static_cast<unsigned char>(text[i])} << (8 * i);
        }
        text.remove_prefix(8);
        break;
      case 2: field.bytes = read_delimited(text); break;
      default: FAIL("a wire type that is not used: ", tag & 7U);
    }
    fields.push_back(field);
  }
  return fields;
}

}  // namespace stagecraft::test
