#include "sim/base/error.hpp"
#include "tests/analytic/run.hpp"

#include <doctest/doctest.h>

using namespace stagecraft;
using namespace stagecraft::hand_made;

TEST_CASE("evaluate: a chain of computations and a transfer") {
  Draft draft{platform({.bandwidth = 2, .latency = 0.5})};
  const LaneId a = draft.lane(0);
  const LaneId b = draft.lane(1);
  const OpId f0 = draft.compute("F0", OpKind::Forward, a, 1);
  const OpId x = draft.send("x", 0, 1, 3, {f0});
  draft.compute("F1", OpKind::Forward, b, 1.5, {x}, 0, 1);
  draft.last().closes = true;
  const Run run = both_ways(draft);
  CHECK(run.picture == "F0 0-1, x 1-3, F1 3-4.5");  // x: 0.5 + 3 / 2 = 2
  CHECK(run.report.iterations == std::vector{Seconds(4.5)});
  CHECK(run.report.operations == 4);
  check_windows(draft);
}

TEST_CASE("evaluate: a transfer of nothing takes the latency, and one within a device no time at all") {
  Draft draft{platform({.latency = 0.25})};
  const LaneId a = draft.lane(0);
  const OpId f0 = draft.compute("F0", OpKind::Forward, a, 1);
  draft.send("x", 0, 1, 0, {f0});
  draft.send("y", 0, 0, 1000, {f0});
  CHECK(both_ways(draft).picture == "F0 0-1, x 1-1.25, y 1-1");
}

TEST_CASE("evaluate: flows on a fair link do not slow each other down") {
  Draft draft{platform()};
  draft.lane(0);
  draft.send("x", 0, 1, 4);
  draft.send("y", 0, 1, 2);
  CHECK(both_ways(draft).picture == "x 0-4, y 0-2");
}

TEST_CASE("evaluate: a strict lane waits for its next operation, a ready lane takes what is there") {
  for (const Discipline discipline : {Discipline::Strict, Discipline::Ready}) {
    Draft draft{platform()};
    const LaneId a = draft.lane(0, discipline);
    const LaneId b = draft.lane(1);
    const OpId slow = draft.compute("S", OpKind::Forward, b, 2);
    draft.compute("A", OpKind::Forward, a, 1, {slow});
    draft.compute("B", OpKind::Forward, a, 1);
    CHECK(by_events(draft).picture ==
          (discipline == Discipline::Strict ? "S 0-2, A 2-3, B 3-4" : "S 0-2, B 0-1, A 2-3"));
    check_windows(draft);
  }
}

TEST_CASE("evaluate: a ready lane prefers small priorities, then what became ready first, then the older operation") {
  Draft draft{platform({.devices = 3})};
  const LaneId a = draft.lane(0, Discipline::Ready);
  const LaneId b = draft.lane(1);
  const OpId early = draft.compute("e", OpKind::Forward, b, 1);
  const OpId late = draft.compute("l", OpKind::Forward, b, 1, {early});
  draft.compute("busy", OpKind::Forward, a, 4);
  draft.compute("P", OpKind::Forward, a, 1, {late});   // ready at 2
  draft.compute("Q", OpKind::Forward, a, 1, {late});   // ready at 2
  draft.compute("R", OpKind::Forward, a, 1, {early});  // ready at 1
  draft.compute("S", OpKind::Forward, a, 1, {late});   // ready at 2, but more urgent
  draft.last().priority = -1;
  CHECK(by_events(draft).picture == "e 0-1, busy 0-4, l 1-2, S 4-5, R 5-6, P 6-7, Q 7-8");
  check_windows(draft);
}

TEST_CASE("evaluate: an operation with a not-before time becomes ready then") {
  Draft draft{platform()};
  const LaneId a = draft.lane(0, Discipline::Ready);
  draft.compute("busy", OpKind::Forward, a, 4);
  draft.compute("A", OpKind::Forward, a, 1);  // ready at 3
  draft.last().not_before = Seconds(3);
  const LaneId b = draft.lane(1);
  const OpId c = draft.compute("C", OpKind::Forward, b, 2);
  draft.compute("B", OpKind::Forward, a, 1, {c});  // ready at 2
  CHECK(by_events(draft).picture == "busy 0-4, C 0-2, B 4-5, A 5-6");
}

TEST_CASE("evaluate: a not-before time holds up a strict lane") {
  Draft draft{platform()};
  const LaneId a = draft.lane(0);
  draft.compute("A", OpKind::Forward, a, 1);
  draft.last().not_before = Seconds(2);
  draft.compute("B", OpKind::Forward, a, 1);
  const Run run = both_ways(draft);
  CHECK(run.picture == "A 2-3, B 3-4");
  CHECK(run.report.devices[0].time.idle == Seconds(2));
  check_windows(draft);
}

TEST_CASE("evaluate: exclusive links serve by the time of readiness, then by number") {
  Draft draft{platform({.devices = 2, .latency = 1, .sharing = Sharing::Exclusive})};
  const LaneId a = draft.lane(0);
  const OpId f = draft.compute("F", OpKind::Forward, a, 2);
  draft.send("late", 0, 1, 1, {f});  // ready at 2
  draft.send("x", 0, 1, 3);          // 1 + 3
  draft.send("y", 0, 1, 1);          // ready at 0, after x: 4 to 6
  draft.send("back", 1, 0, 1);       // full duplex: a link of its own
  CHECK(by_events(draft).picture == "F 0-2, x 0-4, back 0-2, y 4-6, late 6-8");
}

TEST_CASE("evaluate: half duplex is one link for both directions") {
  Draft draft{platform({.devices = 2, .duplex = Duplex::Half, .sharing = Sharing::Exclusive})};
  draft.lane(0);
  draft.send("x", 0, 1, 3);
  draft.send("back", 1, 0, 1);
  CHECK(by_events(draft).picture == "x 0-3, back 3-4");
}

namespace {

/// gpu0 reaches gpu1 over A, gpu2 over A and B, gpu3 over B; all exclusive, 1 B/s.
Platform crossing() {
  PlatformSpec spec;
  spec.device_kinds.push_back({"A", Bytes(1000), 1.0, Bytes(0), std::nullopt});
  ExplicitForm form;
  for (const char* name : {"gpu0", "gpu1", "gpu2", "gpu3"}) form.devices.push_back({name, DeviceKindId(0), {}});
  const LinkSpec link{BytesPerSecond(1), Seconds(0), Duplex::Half, Sharing::Exclusive};
  form.links = {{"A", std::nullopt, link}, {"B", std::nullopt, link}};
  form.routes = {{DeviceId(0), DeviceId(1), {0}}, {DeviceId(0), DeviceId(2), {0, 1}}, {DeviceId(0), DeviceId(3), {1}}};
  spec.form = form;
  return build_platform(spec);
}

}  // namespace

TEST_CASE("evaluate: a transfer that cannot have all its links leaves the free ones to others") {
  Draft draft{crossing()};
  draft.lane(0);
  draft.send("a", 0, 1, 4);   // A until 4
  draft.send("ab", 0, 2, 1);  // waits for A without keeping B
  draft.send("b", 0, 3, 1);   // B until 1
  draft.send("b2", 0, 3, 4);  // B until 5: ab waits on
  draft.send("a2", 0, 1, 1);  // A from 4 to 5
  CHECK(by_events(draft).picture == "a 0-4, b 0-1, b2 1-5, a2 4-5, ab 5-6");
}

TEST_CASE("evaluate: an aborted head of a channel does not hold up others on the links it needs") {
  // c2 waits for A, then finds the aborted c1 before it on the channel: A must turn to a2.
  Draft draft{crossing()};
  draft.lane(0);
  const LaneId channel = draft.channel();
  draft.send("a", 0, 1, 3);
  draft.send("c1", 0, 3, 8);
  draft.last().lane = channel;
  draft.send("c2", 0, 1, 1);
  draft.last().lane = channel;
  draft.send("a2", 0, 1, 1);
  const Events events = {{Seconds(2), std::nullopt, Failure{DeviceId(3), Seconds(4)}}};
  // a: A from 0 to 3, a2 from 3 to 4; c1 again from 6 to 14; c2 after it.
  CHECK(by_events(draft, events).picture == "a 0-3, c1 0-2!, a2 3-4, c1 6-14, c2 14-15");
}

TEST_CASE("evaluate: an operation on two lanes waits for both and holds both") {
  Draft draft{platform()};
  const LaneId a = draft.lane(0);
  const LaneId b = draft.lane(1);
  draft.compute("A", OpKind::Forward, a, 1);
  draft.compute("B", OpKind::Forward, b, 3);
  const OpId both = draft.compute("AB", OpKind::Forward, a, 2);
  draft.graph.occupy(b);
  draft.compute("A2", OpKind::Forward, a, 1);
  draft.compute("B2", OpKind::Forward, b, 1, {both});
  const Run run = both_ways(draft);
  CHECK(run.picture == "A 0-1, B 0-3, AB 3-5, AB 3-5, A2 5-6, B2 5-6");  // AB: once for each device
  CHECK(run.report.devices[0].busy == Seconds(4));
  CHECK(run.report.devices[1].busy == Seconds(6));
  check_windows(draft);
}

TEST_CASE("evaluate: what waits only for a busy lane of its own does not hold up the other lane") {
  Draft draft{platform()};
  const LaneId a = draft.lane(0, Discipline::Ready);
  const LaneId b = draft.lane(1, Discipline::Ready);
  draft.compute("B", OpKind::Forward, b, 3);
  draft.compute("AB", OpKind::Forward, a, 2);
  draft.graph.occupy(b);
  draft.compute("A", OpKind::Forward, a, 4);
  CHECK(by_events(draft).picture == "B 0-3, A 0-4, AB 4-6, AB 4-6");
}

TEST_CASE("evaluate: a dependency on itself or on a later operation is refused") {
  for (const std::uint64_t earlier : {0U, 1U}) {
    Draft draft{platform()};
    draft.compute("A", OpKind::Forward, draft.lane(0), 1, {OpId(earlier)});
    CHECK_THROWS_AS(run(closed(draft), single_window(draft.graph)), InternalError);
    CHECK_THROWS_AS(run(closed(draft), single_window(draft.graph, true)), InternalError);
  }
}

TEST_CASE("evaluate: a run of transfers alone needs no device lane") {
  for (const bool with_channel : {false, true}) {
    Draft draft{platform()};
    LaneId channel;
    if (with_channel) channel = draft.channel();
    OpId before = draft.send("x0", 0, 1, 1);
    draft.last().lane = channel;
    for (int i = 1; i < 5; ++i) {
      before = draft.send("x" + std::to_string(i), 0, 1, 1, {before});
      draft.last().lane = channel;
    }
    CHECK(both_ways(draft).picture == "x0 0-1, x1 1-2, x2 2-3, x3 3-4, x4 4-5");
    check_windows(draft);
  }
}
