#include "sim/engine/disruptions.hpp"

#include "tests/engine/hand_made.hpp"
#include "tests/engine/still_clock.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

using namespace stagecraft;
using namespace stagecraft::hand_made;

namespace {

Event at(double seconds, decltype(Event::change) change) { return {Seconds(seconds), std::nullopt, change}; }

/// The parts of a run whose operations a test starts by hand.
struct Run {
  Run(const Draft& draft, const Events& events)
      : where(draft.platform),
        resources(where),
        outages(where),
        speeds(where, events),
        disruptions({where, clock, operations, resources, outages, speeds, wakes, dispatcher, log, observations},
                    events) {
    for (const Lane& lane : draft.graph.new_lanes) resources.add_lane(lane, false);
    operations.expect(draft.graph);
    for (std::size_t i = 0; i < draft.graph.ops.size(); ++i) {
      operations[operations.append(draft.graph, i)].simple = resources.join(i, draft.graph.ops[i], {});
    }
  }
  void start(std::uint64_t op) {
    Operation& what = operations[op];
    for (Resource* resource : resources.of(op, what.op)) resources.take(*resource);
    what.state = Operation::State::Running;
    what.start = clock.time;
    log.start(op);
    if (is_compute(what.op.kind)) (void)speeds.start(op, what.op, {}, clock.time);
  }

  Platform where;
  testing::StillClock clock;
  OperationStore operations;
  Resources resources;
  Outages outages;
  Speeds speeds;
  Wakes wakes{clock};
  Dispatcher dispatcher{operations, resources, outages, wakes, clock};
  Timeline timeline;
  SpanLog log{where, operations, resources, collect_into(timeline)};
  Observations observations{where.devices.size()};
  Disruptions disruptions;
};

/// A computation on each of two devices, and a transfer between them.
Draft three_operations() {
  Draft draft{platform()};
  draft.compute("", OpKind::Forward, draft.lane(0), 8);
  draft.compute("", OpKind::Forward, draft.lane(1), 8);
  draft.send("", 0, 1, 8);
  return draft;
}

using Ends = std::vector<testing::StillClock::End>;

}  // namespace

// 2 of 8 s are done when the device becomes three times slower: the other 6 take 18.
TEST_CASE("disruptions: a slowdown moves the ends of what computes on the device") {
  Run run(three_operations(), {at(2, Slowdown{DeviceId(1), 3.0})});
  run.disruptions.begin();
  REQUIRE(run.clock.wakes.size() == 1);
  for (std::uint64_t op = 0; op < 3; ++op) run.start(op);
  run.clock.time = Seconds(2);
  run.disruptions.strike(0);
  CHECK(run.clock.ends == Ends{{OpId(1), 1, Seconds(20)}});
}

TEST_CASE("disruptions: a failure breaks off what involves the device, which is to start again") {
  Run run(three_operations(), {at(0, Failure{DeviceId(0), Seconds(5)})});
  for (std::uint64_t op = 0; op < 3; ++op) run.start(op);
  run.clock.time = Seconds(2);
  run.disruptions.begin();
  REQUIRE(run.timeline.size() == 1);  // the other broken span comes after that of operation 1, which started before
  CHECK(run.timeline[0].aborted);
  CHECK(run.timeline[0].end == Seconds(2));
  CHECK(run.operations[0].state == Operation::State::Ready);
  CHECK(run.operations[1].state == Operation::State::Running);
  CHECK(run.clock.aborted == std::vector<OpId>{OpId(2)});
  CHECK(run.resources.lane(LaneId(0)).queue.front() == 0);
  CHECK(run.outages.is_down(DeviceId(0)));
  CHECK(run.dispatcher.next() == std::nullopt);
  CHECK(run.disruptions.recover(DeviceId(0)) == std::vector<std::uint64_t>{2});  // it has waited for the device
  CHECK(run.dispatcher.next() == std::optional<std::uint64_t>(0));
}

TEST_CASE("disruptions: noise is that of what starts from now on, at this instant too") {
  Run run(three_operations(), {at(0, Jitter{0.5, 3})});
  run.start(0);
  run.clock.time = Seconds(2);
  run.start(1);
  run.disruptions.begin();
  REQUIRE(run.clock.ends.size() == 1);
  CHECK(run.clock.ends[0].op == OpId(1));
  CHECK(run.clock.ends[0].at != Seconds(10));
}

TEST_CASE("disruptions: an event at a microbatch strikes once") {
  const BandwidthChange change{LinkId(0), BytesPerSecond(4)};
  Run run(three_operations(), {{Seconds(0), 3, change}});
  run.disruptions.begin();
  run.disruptions.strike_at(2);
  CHECK(run.clock.changed.empty());
  run.disruptions.strike_at(3);
  run.disruptions.strike_at(3);
  CHECK(run.clock.changed == std::vector<LinkId>{LinkId(0)});
}

TEST_CASE("disruptions: a link is down until the last of its failures has ended") {
  const LinkFailure shorter{LinkId(0), Seconds(5)};
  Run run(three_operations(), {at(0, shorter), at(0, LinkFailure{LinkId(0), Seconds(9)}), at(3, shorter)});
  run.disruptions.begin();
  using Turned = std::vector<std::pair<LinkId, bool>>;
  CHECK(run.clock.turned == Turned{{LinkId(0), true}});
  std::vector<Seconds> wakes;
  for (const auto& [token, at] : run.clock.wakes) wakes.push_back(at);
  CHECK(wakes == std::vector<Seconds>{Seconds(5), Seconds(9), Seconds(3)});
  run.disruptions.recover(LinkId(0));
  CHECK(run.clock.turned.size() == 1);
  run.disruptions.recover(LinkId(0));
  CHECK(run.clock.turned == Turned{{LinkId(0), true}, {LinkId(0), false}});
}
