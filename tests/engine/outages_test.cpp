#include "sim/engine/outages.hpp"

#include "tests/engine/hand_made.hpp"

#include <doctest/doctest.h>

#include <vector>

namespace stagecraft::outages_test {

using namespace stagecraft::hand_made;

namespace {

Op send(std::uint32_t from, std::uint32_t to) {
  Op op;
  op.kind = OpKind::Activation;
  op.from = PlaceId(from);
  op.to = PlaceId(to);
  return op;
}

}  // namespace

TEST_CASE("outages: a device is up again when the last of its failures is over") {
  const Platform two = platform();
  Outages outages(two);
  outages.begin(DeviceId(0));
  outages.begin(DeviceId(0));
  CHECK_FALSE(outages.end(DeviceId(0)));
  CHECK(outages.is_down(DeviceId(0)));
  CHECK(outages.end(DeviceId(0)));
  CHECK_FALSE(outages.is_down(DeviceId(0)));
}

TEST_CASE("outages: a transfer waits for a device that is down, at either end, until it is released") {
  const Platform three = platform({.devices = 3});
  Outages outages(three);
  CHECK_FALSE(outages.hold(0, send(0, 1)));
  outages.begin(DeviceId(1));
  CHECK(outages.hold(1, send(0, 1)));
  CHECK(outages.hold(2, send(1, 2)));
  CHECK_FALSE(outages.hold(3, send(0, 2)));
  CHECK(outages.release(DeviceId(0)).empty());
  CHECK(outages.release(DeviceId(1)) == std::vector<std::uint64_t>{1, 2});
  CHECK(outages.release(DeviceId(1)).empty());
}

TEST_CASE("outages: hosts never fail, and an operation without places waits for nobody") {
  const Platform one = platform({.devices = 1, .host_bandwidth = 1.0});
  Outages outages(one);
  outages.begin(DeviceId(0));
  CHECK_FALSE(outages.hold(0, Op{}));
  const auto host = one.place(HostId(0)).value();
  CHECK_FALSE(outages.hold(1, send(host, host)));
  CHECK(outages.hold(2, send(host, 0)));
}

}  // namespace stagecraft::outages_test
