#include "experiments/view/protobuf_writer.hpp"

#include <doctest/doctest.h>

#include <string>

namespace stagecraft {
namespace {

using namespace std::string_literals;

TEST_CASE("protobuf writer for export: the bytes of the examples of the specification") {
  // protobuf.dev, "Encoding": the message {1: 150}, and {2: "testing"}.
  ProtobufWriter number;
  number.number(1, 150);
  CHECK(number.bytes() == "\x08\x96\x01");
  ProtobufWriter text;
  text.text(2, "testing");
  CHECK(text.bytes() == "\x12\x07testing");
  // {3: {1: 150}}, from the same page.
  ProtobufWriter outer;
  outer.message(3, number);
  CHECK(outer.bytes() == "\x1a\x03\x08\x96\x01");
}

TEST_CASE("protobuf writer for export: limits") {
  ProtobufWriter writer;
  writer.signed_number(1, -2);  // "Encoding": ten bytes
  CHECK(writer.bytes() == "\x08\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01");
  ProtobufWriter fixed;
  fixed.fixed(47, 0x0102030405060708);  // 47 · 8 + 1 = 377 = 0x179: f9 02
  CHECK(fixed.bytes() == "\xf9\x02\x08\x07\x06\x05\x04\x03\x02\x01");
  ProtobufWriter file;
  file.delimited(ProtobufWriter{});
  CHECK(file.bytes() == "\0"s);
}

}  // namespace
}  // namespace stagecraft
