#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace stagecraft {

/// A message of Protocol Buffers, written field by field. A field of the schema that repeats is written several times.
/// **Source** "Encoding", protobuf.dev: a field is its number with its wire type, then its value.
class ProtobufWriter {
 public:
  /// Of the types `uint64`, `uint32`, `bool` and enumerations, and of `int32` and `int64` without negative values.
  void number(std::uint32_t field, std::uint64_t value);
  /// Of the type `int64`.
  void signed_number(std::uint32_t field, std::int64_t value) { number(field, static_cast<std::uint64_t>(value)); }
  /// Of the type `fixed64`: eight bytes, the least first.
  void fixed(std::uint32_t field, std::uint64_t value);
  void text(std::uint32_t field, std::string_view value);
  void message(std::uint32_t field, const ProtobufWriter& value) { text(field, value.bytes_); }
  /// Appends a message as a part of a file in which each has its length before it.
  void delimited(const ProtobufWriter& value);

  [[nodiscard]] const std::string& bytes() const { return bytes_; }

 private:
  void varint(std::uint64_t value);
  std::string bytes_;
};

}  // namespace stagecraft
