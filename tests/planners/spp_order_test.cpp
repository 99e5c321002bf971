#include "planners/spp/device_order.hpp"
#include "tests/planners/fixtures.hpp"

#include <doctest/doctest.h>

#include <vector>

using namespace stagecraft;
using namespace stagecraft::spp;

namespace {

struct Pair {
  std::size_t a = 0;
  std::size_t b = 0;
  double bandwidth = 1.0;
};

PairBandwidths pairs_of(std::size_t devices, const std::vector<Pair>& wide) {
  PairBandwidths pairs(devices);
  for (const Pair& pair : wide) pairs.set(DeviceId(pair.a), DeviceId(pair.b), BytesPerSecond(pair.bandwidth));
  return pairs;
}

std::vector<std::size_t> numbers(const std::vector<DeviceId>& order) {
  std::vector<std::size_t> result;
  for (DeviceId device : order) result.push_back(device.value());
  return result;
}

}  // namespace

TEST_CASE("spp: orders the specification's devices by recursive minimum cuts") {
  CHECK(numbers(device_order(pairs_of(4, {{0, 2, 10}, {1, 3, 10}}))) == std::vector<std::size_t>{0, 2, 1, 3});
  CHECK(numbers(device_order(pairs_of(5, {{0, 4, 20}, {2, 3, 20}, {1, 2, 6}, {1, 3, 6}}))) ==
        std::vector<std::size_t>{0, 4, 1, 2, 3});
}
