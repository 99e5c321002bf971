#include "sim/engine/speeds.hpp"

#include "sim/model/noise.hpp"
#include "tests/engine/hand_made.hpp"

#include <doctest/doctest.h>

#include <vector>

using namespace stagecraft;
using namespace stagecraft::hand_made;

namespace {

Op computation(std::uint32_t device, double seconds) {
  Op op;
  op.kind = OpKind::Forward;
  op.from = op.to = PlaceId(device);
  op.seconds = Seconds(seconds);
  return op;
}

const Events kSlowdownToCome = {{Seconds(1), std::nullopt, Slowdown{DeviceId(0), 2.0}}};

}  // namespace

TEST_CASE("speeds: the slowest device of a computation sets its pace") {
  const Platform three = platform({.devices = 3});
  Speeds speeds(three, {});
  speeds.set_slowdown(DeviceId(1), 2.0);
  speeds.set_slowdown(DeviceId(2), 4.0);
  CHECK(speeds.start(0, computation(0, 3), {}, Seconds(1)) == Seconds(4));
  const std::vector<DeviceId> further = {DeviceId(1), DeviceId(2)};
  CHECK(speeds.start(1, computation(0, 3), further, Seconds(1)) == Seconds(13));
}

// 8 s of work from 0 on. At 2 the device slows down to a half: 6 s are left, which take 12. At 6 it is itself again: 4
// s are left.
TEST_CASE("speeds: what is left of a computation goes on at the new pace") {
  const Platform one = platform({.devices = 1});
  Speeds speeds(one, kSlowdownToCome);
  const Op work = computation(0, 8);
  CHECK(speeds.start(0, work, {}, Seconds(0)) == Seconds(8));
  speeds.set_slowdown(DeviceId(0), 2.0);
  CHECK(speeds.resume(0, work, {}, Seconds(2)) == Seconds(14));
  speeds.set_slowdown(DeviceId(0), 1.0);
  CHECK(speeds.resume(0, work, {}, Seconds(6)) == Seconds(10));
}

TEST_CASE("speeds: noise is that of the computation, and a start after an abort has all its work before it") {
  const Platform one = platform({.devices = 1});
  Speeds speeds(one, kSlowdownToCome);
  const Jitter noise{0.5, 7};
  speeds.set_noise(noise);
  const Op work = computation(0, 8);
  const Seconds noisy = work.seconds * noise_factor(noise, work, DeviceId(0));
  CHECK(noisy != work.seconds);
  CHECK(speeds.start(0, work, {}, Seconds(0)) == noisy);
  CHECK(speeds.start(0, work, {}, Seconds(0)) == noisy);
  speeds.end(0);
}
