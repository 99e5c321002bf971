#include "sim/base/quantity.hpp"

#include <doctest/doctest.h>

#include <initializer_list>

using namespace stagecraft;

TEST_CASE("quantity: bytes are rounded up, but not by the noise of a product") {
  CHECK(scale_up(Bytes(7), 0.5) == Bytes(4));  // 3.5
  CHECK(scale_up(Bytes(8), 0.5) == Bytes(4));
  CHECK(scale_up(Bytes(0), 3.7) == Bytes(0));
  CHECK(scale_up(Bytes(10), 0.01) == Bytes(1));        // 0.1
  CHECK(scale_up(Bytes(30), 0.1) == Bytes(3));         // 3.0000000000000004 is not 4
  CHECK(scale_up(Bytes(1000), 1.001) == Bytes(1001));  // 1000.9999999999999
  CHECK(scale_up(Bytes(1), 4.0000001) == Bytes(5));
}

TEST_CASE("quantity: the noise allowed takes nothing off large sizes") {
  for (const std::int64_t size : {std::int64_t{2'000'000'000'000}, std::int64_t{9'007'199'254'740'992}}) {
    CHECK(scale_up(Bytes(size), 1.0) == Bytes(size));
    CHECK(scale_up(Bytes(size / 2), 2.0) == Bytes(size));
  }
}

TEST_CASE("quantity: shares are rounded up in integers") {
  CHECK(share_up(Bytes(10), 1, 3) == Bytes(4));
  CHECK(share_up(Bytes(9), 1, 3) == Bytes(3));
  CHECK(share_up(Bytes(9), 2, 3) == Bytes(6));
  CHECK(share_up(Bytes(0), 1, 3) == Bytes(0));
  CHECK(share_up(Bytes(std::int64_t{1} << 53), (1 << 20) - 1, 1 << 20) == Bytes((std::int64_t{1} << 53) - (1LL << 33)));
}

TEST_CASE("quantity: units combine to units") {
  CHECK(Bytes(6) / BytesPerSecond(4) == Seconds(1.5));
  CHECK(Flops(6) / FlopsPerSecond(4) == Seconds(1.5));
  CHECK(Seconds(6) / Seconds(4) == 1.5);
  CHECK(3.0 * (Seconds(2) + Seconds(1)) - Seconds(4) / 2.0 == Seconds(7));
  CHECK(Seconds(1e300) < kNever);
}
