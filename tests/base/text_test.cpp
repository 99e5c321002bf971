#include "sim/base/text.hpp"

#include <doctest/doctest.h>

using namespace stagecraft;

namespace {

double seconds(std::string_view text) { return parse_seconds(text).value.value().value(); }
std::int64_t bytes(std::string_view text) { return parse_bytes(text).value.value().value(); }
double bandwidth(std::string_view text) { return parse_bandwidth(text).value.value().value(); }

/// The same bit pattern: what reads back must not merely be close.
bool same(double a, double b) { return !(a < b) && !(b < a); }

}  // namespace

TEST_CASE("text: times shift the decimal point, so that equal texts are equal doubles") {
  CHECK(same(seconds("41.3 ms"), 0.0413));
  CHECK(same(seconds("41.3ms"), 0.0413));
  CHECK(same(seconds("1.1 us"), 1.1e-6));
  CHECK(same(seconds("7 ns"), 7e-9));
  CHECK(same(seconds("1.5e3 ms"), 1.5));
  CHECK(same(seconds("2 min"), 120));
  CHECK(same(seconds("1.5 h"), 5400));
  CHECK(same(seconds("0"), 0));
  CHECK(same(seconds("0 ms"), 0));
  CHECK(same(seconds("0e999999999999 s"), 0));
}

TEST_CASE("text: sizes tell bits from bytes and powers of ten from powers of two") {
  CHECK(bytes("8 B") == 8);
  CHECK(bytes("16 GiB") == 17179869184);
  CHECK(bytes("16 GB") == 16000000000);
  CHECK(bytes("1 kB") == 1000);
  CHECK(bytes("1 KiB") == 1024);
  CHECK(bytes("1 TiB") == 1099511627776);
  CHECK(bytes("1 PB") == 1000000000000000);
  CHECK(bytes("8 PiB") == 9007199254740992);
  CHECK(parse_bytes("8.1 PiB").hint == "more than 2^53 bytes");
  CHECK(bytes("8 b") == 1);
  CHECK(bytes("1 Mb") == 125000);
  CHECK(bytes("1 Mib") == 131072);
  CHECK(bytes("11.2 GiB") == 12025908429);  // 11.2 · 2^30 = 12025908428.8
  CHECK(bytes("1e3 B") == 1000);
  CHECK(bytes("9007199254740992 B") == 9007199254740992);
  CHECK(bytes("0") == 0);
}

TEST_CASE("text: rates") {
  CHECK(same(bandwidth("25 GBps"), 25e9));
  CHECK(same(bandwidth("200 Gbps"), 25e9));
  CHECK(same(bandwidth("1 GiBps"), 1073741824.0));
  CHECK(same(bandwidth("0.1 GBps"), 1e8));
  CHECK(same(parse_flops_rate("15.7 TFLOPS").value.value().value(), 15.7e12));
  CHECK(same(parse_number("2.5e-1").value.value(), 0.25));
  CHECK(parse_count("18014398509481985").value.value() == 18014398509481985);
}

TEST_CASE("text: a refusal says what was expected, what was found and how to write it") {
  const auto negative = parse_seconds("-3 ms");
  REQUIRE_FALSE(negative);
  CHECK(negative.problem == "expected a time with its unit, such as '1.5 ms', found '-3 ms'");
  CHECK(negative.hint == "negative values are not allowed");
  CHECK(parse_bytes("16").hint == "the unit is missing");
  CHECK(parse_bytes("16 GiBps").hint == "'GiBps' is a unit of another quantity");
  CHECK(parse_bytes("16 GIB").hint.starts_with("unknown unit 'GIB'; did you mean 'GiB'? known: B, kB, MB"));
  CHECK(parse_bytes("1.5 B").hint == "not a whole number of bytes");
  CHECK(parse_bytes("3 b").hint == "not a whole number of bytes; 'b' is bit, 'B' is byte");
  CHECK(parse_bytes("9007199254740993 B").hint == "more than 2^53 bytes");
  CHECK(parse_bytes("99999999999999999999 B").hint == "more than 2^53 bytes");
  CHECK(parse_bytes("1e300 B").hint == "more than 2^53 bytes");
  CHECK(parse_seconds("010 ms").hint == "write it without leading zeros");
  CHECK(parse_seconds(".5 s").hint == "write a digit before the point");
  CHECK(parse_seconds("5. s").hint == "write a digit after the point");
  CHECK(parse_seconds("+5 s").hint == "write it without the plus sign");
  CHECK(parse_seconds("1e400 s").hint == "the number is out of range");
  CHECK(parse_seconds("1e-400 s").hint == "the number is out of range");
  CHECK(parse_seconds("1e99999999999999999999 s").hint == "the number is out of range");
  CHECK(parse_seconds("").hint == "the value is empty");
  CHECK(parse_count("1.0").hint == "write digits only");
  CHECK(parse_count("1e3").hint == "write digits only");
  CHECK(parse_count("99999999999999999999").hint == "the number is out of range");
  CHECK(parse_number("1.5 x").hint == "nothing may follow the number");
  for (const char* text : {"nan s", "inf s", "0x10 s", "1,5 s", "1_000 s", "1  s", " 1 s", "1 s ", "1e s", "1 S"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_seconds(text));
  }
}

TEST_CASE("text: what is written reads back to the same value") {
  for (double value : {0.0, 0.0413, 1.0 / 3.0, 1e-12, 5e-324, 123456.789, 1.7e308, 0.1 + 0.2}) {
    CAPTURE(value);
    CHECK(same(seconds(format_seconds(Seconds(value))), value));
    CHECK(same(bandwidth(format_bandwidth(BytesPerSecond(value))), value));
    CHECK(same(parse_number(format_number(value)).value.value(), value));
  }
  CHECK(format_seconds(Seconds(0.0413)) == "0.0413 s");
  CHECK(format_bytes(Bytes(12025908428)) == "12025908428 B");
  CHECK(format_whole_bytes(Bytes(17179869184)) == "16 GiB");
  CHECK(format_whole_bytes(Bytes(1025)) == "1025 B");
  CHECK(format_whole_bytes(Bytes(0)) == "0 B");
  CHECK(format_bandwidth(BytesPerSecond(25e9)) == "25 GBps");
  for (std::int64_t size : {0L, 1L, 1536L, 1L << 53, 12025908428L}) {
    CHECK(bytes(format_bytes(Bytes(size))) == size);
    CHECK(bytes(format_whole_bytes(Bytes(size))) == size);
  }
}

TEST_CASE("text: human forms have three digits and the unit that suits them") {
  CHECK(format_human_bytes(Bytes(12025908428)) == "11.2 GiB");
  CHECK(format_human_bytes(Bytes(0)) == "0 B");
  CHECK(format_human_bytes(Bytes(1023)) == "1023 B");
  CHECK(format_human_bytes(Bytes((1 << 20) - 1)) == "1 MiB");
  CHECK(format_enough_bytes(Bytes(12025908428)) == "11.2 GiB");  // exactly 12025908428.8 B
  CHECK(format_enough_bytes(Bytes(12025908430)) == "11.3 GiB");
  CHECK(format_enough_bytes(Bytes(1023)) == "1023 B");
  CHECK(format_enough_bytes(Bytes((1 << 20) + 1)) == "1.01 MiB");
  CHECK(format_enough_bytes(Bytes(0)) == "0 B");
  CHECK(format_enough_bytes(Bytes(std::int64_t{1} << 60)) == "1048576 TiB");  // more than can be read
  CHECK(format_human_seconds(Seconds(0.0413)) == "41.3 ms");
  CHECK(format_human_seconds(Seconds(0.9996)) == "1 s");
  CHECK(format_human_seconds(Seconds(1.23e-6)) == "1.23 us");
  CHECK(format_human_seconds(Seconds(5400)) == "5400 s");
  CHECK(format_human_seconds(Seconds(0)) == "0 s");
  CHECK(format_human_seconds(kNever) == "never");
  CHECK(format_human_bandwidth(BytesPerSecond(12.5e9)) == "12.5 GBps");
}

TEST_CASE("text: the nearest name is the one with the fewest changes") {
  const std::vector<std::string> known = {"forward", "backward", "parameters"};
  CHECK(nearest_name("foward", known) == "forward");
  CHECK(nearest_name("FORWARD", known) == "forward");
  CHECK(nearest_name("bxo", {"axes", "box"}) == "box");
  CHECK(nearest_name("parameter", known) == "parameters");
  CHECK_FALSE(nearest_name("stash", known).has_value());
  CHECK_FALSE(nearest_name("x", {"y"}).has_value());
  CHECK(suggest_name("bakward", known) == "did you mean 'backward'? known: forward, backward, parameters");
  CHECK(suggest_name("Back", known) == "did you mean 'backward'? known: forward, backward, parameters");
  CHECK(suggest_name("gpu", {"gpu-a1", "cpu-xx", "GPU-b2", "gpu-c3"}) ==
        "did you mean 'gpu-a1', 'GPU-b2' or 'gpu-c3'? known: gpu-a1, cpu-xx, GPU-b2, gpu-c3");
  CHECK(suggest_name("", known) == "known: forward, backward, parameters");
  CHECK(suggest_name("zzz", known) == "known: forward, backward, parameters");
  CHECK(suggest_name("zzz", {}) == "none is known");
}

TEST_CASE("text: quotes show control characters and cut what is long") {
  CHECK(quote("a\nb\x1b[31m") == "'a\\nb\\x1b[31m'");
  CHECK(quote(std::string(200, 'x')) == "'" + std::string(80, 'x') + "…'");
  CHECK(quote("grün") == "'grün'");
  CHECK(quote("a\x80\xff") == "'a\\x80\\xff'");
  CHECK(quote("\u0085\u2028") == "'\\xc2\\x85\\xe2\\x80\\xa8'");
  CHECK(quote("\u202E\u2066") == "'\\xe2\\x80\\xae\\xe2\\x81\\xa6'");  // they would turn what follows around
  CHECK(quote("\u061C\u200F") == "'\\xd8\\x9c\\xe2\\x80\\x8f'");
  CHECK(quote("\u007F\u0080\u009F") == "'\\x7f\\xc2\\x80\\xc2\\x9f'");
  CHECK(quote("\u2027\u202F\u2065\u206A") == "'\u2027\u202F\u2065\u206A'");
  CHECK(quote(std::string(200, '\x80')).size() < 400);
}

TEST_CASE("text: lines of others are indented, and escaped like quotes") {
  CHECK(indented("a\nb\n\n", "  ") == "  a\n  b");
  CHECK(indented("a\n\n\tb\r\x1b[31m", "> ") == "> a\n> \n> \\tb\\x0d\\x1b[31m");
  CHECK(indented("grün \xff", "") == "grün \\xff");
  CHECK(indented("", "  ") == "  ");
}
