#include "experiments/view/protobuf_writer.hpp"

namespace stagecraft {
namespace {

constexpr std::uint64_t kVarint = 0;
constexpr std::uint64_t kFixed64 = 1;
constexpr std::uint64_t kLengthDelimited = 2;

std::uint64_t tag(std::uint32_t field, std::uint64_t wire_type) { return (std::uint64_t{field} << 3) | wire_type; }

}  // namespace

/// Seven bits a byte, the least first; the highest bit of a byte says that more follow.
void ProtobufWriter::varint(std::uint64_t value) {
  constexpr std::uint64_t kMore = 0x80;
  for (; value >= kMore; value >>= 7) bytes_ += static_cast<char>((value & (kMore - 1)) | kMore);
  bytes_ += static_cast<char>(value);
}

void ProtobufWriter::number(std::uint32_t field, std::uint64_t value) {
  varint(tag(field, kVarint));
  varint(value);
}

void ProtobufWriter::fixed(std::uint32_t field, std::uint64_t value) {
  varint(tag(field, kFixed64));
  for (unsigned byte = 0; byte < 8; ++byte) bytes_ += static_cast<char>((value >> (8 * byte)) & 0xff);
}

void ProtobufWriter::text(std::uint32_t field, std::string_view value) {
  varint(tag(field, kLengthDelimited));
  varint(value.size());
  bytes_ += value;
}

void ProtobufWriter::delimited(const ProtobufWriter& value) {
  varint(value.bytes_.size());
  bytes_ += value.bytes_;
}

}  // namespace stagecraft
