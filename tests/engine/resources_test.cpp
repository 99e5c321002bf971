#include "sim/engine/resources.hpp"

#include "tests/engine/hand_made.hpp"

#include <doctest/doctest.h>

#include <vector>

using namespace stagecraft;
using namespace stagecraft::hand_made;

namespace {

Op on_lane(std::uint32_t lane, std::uint8_t extra_lanes = 0) {
  Op op;
  op.kind = OpKind::Forward;
  op.lane = LaneId(lane);
  op.from = op.to = PlaceId(lane);
  op.extra_lanes = extra_lanes;
  return op;
}

}  // namespace

TEST_CASE("resources: a window is needed while an open device lane has no operation that has not started") {
  const Platform two = platform();
  Resources resources(two);
  CHECK(resources.need_window());  // there is no lane at all
  resources.add_lane({Discipline::Strict, DeviceId(0)}, false);
  resources.add_lane({Discipline::Strict, DeviceId(1)}, false);
  resources.add_lane({Discipline::Strict, DeviceId::none()}, false);  // a channel: never looked ahead for
  CHECK(resources.join(0, on_lane(0), {}));
  CHECK(resources.need_window());
  CHECK(resources.join(1, on_lane(1), {}));
  CHECK_FALSE(resources.need_window());
  resources.take(resources.lane(LaneId(0)));
  CHECK(resources.need_window());
  resources.close(LaneId(0));
  CHECK_FALSE(resources.need_window());
  resources.close(LaneId(0));  // twice is once
  resources.close(LaneId(1));
  CHECK(resources.need_window());  // no open lane tells what may be missed
}

TEST_CASE("resources: an operation of several lanes holds them all, and computes on their devices") {
  const Platform three = platform({.devices = 3});
  Resources resources(three);
  for (std::uint32_t i = 0; i < 3; ++i) resources.add_lane({Discipline::Strict, DeviceId(i)}, false);
  resources.add_lane({Discipline::Strict, DeviceId::none()}, false);
  const std::vector<LaneId> extra = {LaneId(2), LaneId(3)};
  const Op what = on_lane(0, 2);
  CHECK_FALSE(resources.join(0, what, extra));
  const auto held = resources.of(0, what);
  CHECK(std::vector<Resource*>(held.begin(), held.end()) ==
        std::vector<Resource*>{&resources.lane(LaneId(0)), &resources.lane(LaneId(2)), &resources.lane(LaneId(3))});
  const auto further = resources.further_devices(0, what);
  CHECK(std::vector<DeviceId>(further.begin(), further.end()) == std::vector<DeviceId>{DeviceId(2)});
  CHECK(resources.further_devices(1, on_lane(1)).empty());
}

TEST_CASE("resources: an aborted operation is at the front of its strict lane again, and has not started") {
  const Platform one = platform({.devices = 1});
  Resources resources(one);
  resources.add_lane({Discipline::Strict, DeviceId(0)}, false);
  resources.join(7, on_lane(0), {});
  Resource& lane = resources.lane(LaneId(0));
  resources.take(lane);
  CHECK(lane.queue.empty());
  CHECK(resources.need_window());
  resources.put_back(lane, 7);
  CHECK(lane.queue.front() == 7);
  CHECK_FALSE(resources.need_window());
}

TEST_CASE("resources: a device that is down takes its own lanes with it and no others") {
  const Platform two = platform();
  Resources resources(two);
  resources.add_lane({Discipline::Strict, DeviceId(0)}, false);
  resources.add_lane({Discipline::Ready, DeviceId(1)}, true);
  CHECK_FALSE(resources.lane(LaneId(1)).is_free());
  CHECK(resources.set_down(DeviceId(0), true).size() == 1);
  CHECK_FALSE(resources.lane(LaneId(0)).is_free());
  resources.set_down(DeviceId(1), false);
  CHECK(resources.lane(LaneId(1)).is_free());
  CHECK_FALSE(resources.lane(LaneId(0)).is_free());
}

TEST_CASE("resources: a transfer over an exclusive link is not simple") {
  const Platform two = platform({.sharing = Sharing::Exclusive});
  Resources resources(two);
  CHECK(resources.has_exclusive_links());
  Op send;
  send.kind = OpKind::Activation;
  send.from = PlaceId(0);
  send.to = PlaceId(1);
  CHECK_FALSE(resources.join(0, send, {}));
  CHECK(resources.of(0, send).size() == 1);
  resources.forget_links(0);
  CHECK(resources.of(0, send).empty());
}
