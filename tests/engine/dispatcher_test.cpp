#include "sim/engine/dispatcher.hpp"

#include "tests/engine/hand_made.hpp"
#include "tests/engine/still_clock.hpp"

#include <doctest/doctest.h>

#include <vector>

using namespace stagecraft;
using namespace stagecraft::hand_made;

namespace {

using Ops = std::vector<std::uint64_t>;

/// A graph whose operations a test lets start, as far as the dispatcher says, and ends by hand.
struct Floor {
  explicit Floor(const Draft& draft) : where(draft.platform), resources(where), outages(where) {
    for (const Lane& lane : draft.graph.new_lanes) resources.add_lane(lane, false);
    operations.expect(draft.graph);
    for (std::size_t i = 0; i < draft.graph.ops.size(); ++i) {
      const std::uint64_t op = operations.append(draft.graph, i);
      operations[op].simple = resources.join(op, draft.graph.ops[i], {});
      if (operations[op].missing == 0) dispatcher.ready().push_back(op);
    }
  }
  /// Starts all that can start; returns what has.
  Ops start() {
    Ops started;
    while (const auto op = dispatcher.next()) {
      for (Resource* resource : resources.of(*op, operations[*op].op)) resources.take(*resource);
      operations[*op].state = Operation::State::Running;
      started.push_back(*op);
    }
    return started;
  }
  void end(std::uint64_t op) {
    operations.complete(op, clock.time, dispatcher.ready());
    for (Resource* resource : resources.of(op, operations[op].op)) {
      resource->busy = false;
      dispatcher.note_freed(*resource);
    }
  }

  Platform where;
  testing::StillClock clock;
  OperationStore operations;
  Resources resources;
  Outages outages;
  Wakes wakes{clock};
  Dispatcher dispatcher{operations, resources, outages, wakes, clock};
};

}  // namespace

TEST_CASE("dispatcher: a strict lane keeps its order, and one that is not ready holds up the rest") {
  Draft draft{platform()};
  const LaneId a = draft.lane(0);
  const LaneId b = draft.lane(1);
  const OpId first = draft.compute("", OpKind::Forward, b, 1);
  draft.compute("", OpKind::Forward, a, 1, {first});
  draft.compute("", OpKind::Forward, a, 1);
  Floor floor(draft);
  CHECK(floor.start() == Ops{0});
  floor.end(0);
  CHECK(floor.start() == Ops{1});
  floor.end(1);
  CHECK(floor.start() == Ops{2});
  CHECK_FALSE(floor.dispatcher.has_ready());
}

TEST_CASE("dispatcher: a ready lane takes the least priority, then the first to become ready, then the oldest") {
  Draft draft{platform()};
  const LaneId a = draft.lane(0, Discipline::Ready);
  for (int i = 0; i < 4; ++i) draft.compute("", OpKind::Forward, a, 1);
  draft.graph.ops[0].priority = 2;
  draft.graph.ops[3].priority = 1;
  draft.graph.ops[1].priority = 2;
  draft.graph.ops[2].priority = 2;
  draft.graph.ops[0].not_before = Seconds(1);
  Floor floor(draft);
  CHECK(floor.start() == Ops{3});
  floor.clock.time = Seconds(1);
  CHECK_FALSE(floor.dispatcher.consider(0));  // its time has come; it competes
  floor.end(3);
  CHECK(floor.start() == Ops{1});  // ready since 0, and older than 2
  floor.end(1);
  CHECK(floor.start() == Ops{2});
  floor.end(2);
  CHECK(floor.start() == Ops{0});
}

TEST_CASE("dispatcher: what is ready too early is put off until its time") {
  Draft draft{platform()};
  draft.compute("", OpKind::Forward, draft.lane(0), 1);
  draft.last().not_before = Seconds(4);
  Floor floor(draft);
  CHECK(floor.start().empty());
  REQUIRE(floor.clock.wakes.size() == 1);
  CHECK(floor.clock.wakes[0].second == Seconds(4));
  floor.clock.time = Seconds(4);
  CHECK(floor.dispatcher.consider(0));
}

TEST_CASE("dispatcher: transfers over an exclusive link take turns, and one that is held up leaves others theirs") {
  Draft draft{platform({.devices = 3, .duplex = Duplex::Half, .sharing = Sharing::Exclusive})};
  draft.send("", 0, 1, 1);
  draft.send("", 1, 0, 1);
  draft.send("", 1, 2, 1);
  Floor floor(draft);
  CHECK(floor.start() == Ops{0, 2});
  floor.end(0);
  CHECK(floor.start() == Ops{1});
}

TEST_CASE("dispatcher: a transfer to a device that is down does not start before it is considered again") {
  Draft draft{platform()};
  draft.send("", 0, 1, 1);
  Floor floor(draft);
  floor.outages.begin(DeviceId(1));
  CHECK(floor.start().empty());
  CHECK(floor.outages.end(DeviceId(1)));
  CHECK(floor.outages.release(DeviceId(1)) == Ops{0});
  CHECK(floor.dispatcher.consider(0));
}

TEST_CASE("dispatcher: what was aborted can start again") {
  Draft draft{platform()};
  draft.compute("", OpKind::Forward, draft.lane(0), 1);
  Floor floor(draft);
  CHECK(floor.start() == Ops{0});
  Resource& lane = floor.resources.lane(LaneId(0));
  floor.operations[0].state = Operation::State::Ready;
  floor.resources.put_back(lane, 0);
  lane.busy = false;
  floor.dispatcher.return_to(0);
  CHECK(floor.start() == Ops{0});
}
