// Changes during a run: speeds, bandwidths, failures.

#include "tests/analytic/run.hpp"

#include <doctest/doctest.h>

using namespace stagecraft;
using namespace stagecraft::hand_made;

namespace {

Event slowdown(double at, std::uint32_t device, double factor) {
  return {Seconds(at), std::nullopt, Slowdown{DeviceId(device), factor}};
}
Event failure(double at, std::uint32_t device, double duration) {
  return {Seconds(at), std::nullopt, Failure{DeviceId(device), Seconds(duration)}};
}
Event bandwidth(double at, std::uint32_t link, double value) {
  return {Seconds(at), std::nullopt, BandwidthChange{LinkId(link), BytesPerSecond(value)}};
}
Event at_microbatch(std::uint32_t microbatch, Event event) {
  event.at_microbatch = microbatch;
  return event;
}

/// `count` forwards of 2 s on gpu0, microbatches 0 ….
Draft forwards(std::uint32_t count) {
  Draft draft{platform()};
  const LaneId a = draft.lane(0);
  for (std::uint32_t k = 0; k < count; ++k) draft.compute("F" + std::to_string(k), OpKind::Forward, a, 2, {}, k);
  return draft;
}

}  // namespace

TEST_CASE("changes: a slowdown stretches what is left of a running computation and all later ones") {
  // F0 has 1 s left at 1, which takes 3 s; F1 takes 6 s.
  CHECK(by_events(forwards(2), {slowdown(1, 0, 3)}).picture == "F0 0-4, F1 4-10");
  // A second change at 2.5: of F0's 1 s, 1.5 / 3 = 0.5 s is done, the other half takes 0.5 s.
  CHECK(by_events(forwards(2), {slowdown(1, 0, 3), slowdown(2.5, 0, 1)}).picture == "F0 0-3, F1 3-5");
  // Another device's slowdown changes nothing.
  CHECK(by_events(forwards(2), {slowdown(1, 1, 3)}).picture == "F0 0-2, F1 2-4");
  check_windows(forwards(4), {slowdown(1, 0, 3), slowdown(2.5, 0, 1)});
}

TEST_CASE("changes: what ends at the instant of an event has ended before it") {
  CHECK(by_events(forwards(2), {slowdown(2, 0, 3)}).picture == "F0 0-2, F1 2-8");
  CHECK(by_events(forwards(2), {failure(2, 0, 1)}).picture == "F0 0-2, F1 3-5");
  CHECK(by_events(forwards(1), {failure(0, 0, 1)}).picture == "F0 1-3");
}

TEST_CASE("changes: an event at a microbatch strikes when its first forward starts") {
  CHECK(by_events(forwards(3), {at_microbatch(1, slowdown(0, 0, 2))}).picture == "F0 0-2, F1 2-6, F2 6-10");
  CHECK(by_events(forwards(3), {at_microbatch(7, slowdown(0, 0, 2))}).picture == "F0 0-2, F1 2-4, F2 4-6");
}

TEST_CASE("changes: an event at a microbatch is not missed when microbatches enter out of order") {
  Draft draft{platform()};
  const LaneId a = draft.lane(0);
  for (const std::uint32_t k : {2U, 0U, 1U}) draft.compute("F" + std::to_string(k), OpKind::Forward, a, 2, {}, k);
  CHECK(by_events(draft, {at_microbatch(1, slowdown(0, 0, 2))}).picture == "F2 0-2, F0 2-4, F1 4-8");
  // Once only: a later stage's forward of the same microbatch does not strike again.
  Draft two{platform()};
  const LaneId b = two.lane(0);
  const OpId f0 = two.compute("F0", OpKind::Forward, b, 2, {}, 0, 0);
  two.compute("F0'", OpKind::Forward, b, 2, {f0}, 0, 1);
  const Events events = {at_microbatch(0, slowdown(0, 0, 2)), slowdown(4, 0, 1)};
  CHECK(by_events(two, events).picture == "F0 0-4, F0' 4-6");
}

TEST_CASE("changes: a failure aborts a computation, which is done again from its beginning") {
  const Run run = by_events(forwards(2), {failure(1, 0, 4)});
  CHECK(run.picture == "F0 0-1!, F0 5-7, F1 7-9");
  CHECK(run.report.operations == 3);  // two forwards and the barrier; what was broken off does not count
  check_windows(forwards(4), {failure(1, 0, 4)});
}

TEST_CASE("changes: two failures that overlap end with the later one") {
  CHECK(by_events(forwards(1), {failure(1, 0, 4), failure(2, 0, 8)}).picture == "F0 0-1!, F0 10-12");
  CHECK(by_events(forwards(1), {failure(1, 0, 8), failure(2, 0, 1)}).picture == "F0 0-1!, F0 9-11");
}

TEST_CASE("changes: a failure on a ready lane") {
  Draft draft{platform()};
  const LaneId a = draft.lane(0, Discipline::Ready);
  const LaneId b = draft.lane(1, Discipline::Ready);
  draft.compute("A", OpKind::Forward, a, 4);
  draft.compute("A2", OpKind::Forward, a, 1);
  draft.compute("B", OpKind::Forward, b, 2);
  CHECK(by_events(draft, {failure(1, 0, 2)}).picture == "A 0-1!, B 0-2, A 3-7, A2 7-8");
}

TEST_CASE("changes: a failure aborts transfers from and to the device, and holds new ones back") {
  Draft draft{platform({.devices = 3})};
  const LaneId c = draft.lane(2);
  draft.send("out", 0, 1, 4);
  draft.send("in", 1, 0, 4);
  draft.send("other", 1, 2, 4);
  const OpId f = draft.compute("F", OpKind::Forward, c, 2);
  draft.send("new", 2, 0, 1, {f});
  CHECK(by_events(draft, {failure(1, 0, 4)}).picture ==
        "out 0-1!, in 0-1!, other 0-4, F 0-2, out 5-9, in 5-9, new 5-6");
}

TEST_CASE("changes: a literal transfer fails with its device too") {
  Draft draft{platform()};
  draft.lane(0);
  const LaneId channel = draft.channel();
  for (const char* name : {"x", "y"}) {
    draft.send(name, 0, 1, 4);
    draft.last().literal = true;
    draft.last().lane = channel;
    draft.last().seconds = Seconds(2);
  }
  CHECK(by_events(draft, {failure(1, 1, 2)}).picture == "x 0-1!, x 3-5, y 5-7");
}

TEST_CASE("changes: a transfer between two devices that are down waits for both") {
  Draft draft{platform()};
  draft.lane(0);
  draft.send("x", 0, 1, 4);
  CHECK(by_events(draft, {failure(1, 0, 2), failure(2, 1, 6)}).picture == "x 0-1!, x 8-12");
  CHECK(by_events(draft, {failure(1, 0, 7), failure(2, 1, 1)}).picture == "x 0-1!, x 8-12");
}

TEST_CASE("changes: a failure during a not-before time") {
  Draft draft{platform()};
  const LaneId a = draft.lane(0);
  draft.compute("A", OpKind::Forward, a, 1);
  draft.last().not_before = Seconds(2);
  draft.send("x", 0, 1, 1);
  draft.last().not_before = Seconds(2);
  CHECK(by_events(draft, {failure(1, 0, 4)}).picture == "A 5-6, x 5-6");
  CHECK(by_events(draft, {failure(0.5, 0, 1)}).picture == "A 2-3, x 2-3");
}

TEST_CASE("changes: an operation of several devices fails and slows down with each of them") {
  Draft draft{platform()};
  const LaneId a = draft.lane(0);
  const LaneId b = draft.lane(1);
  draft.compute("AB", OpKind::Forward, a, 4);
  draft.graph.occupy(b);
  CHECK(by_events(draft, {failure(1, 1, 2)}).picture == "AB 0-1!, AB 0-1!, AB 3-7, AB 3-7");
  CHECK(by_events(draft, {slowdown(1, 1, 2)}).picture == "AB 0-7, AB 0-7");  // 1 + 3 * 2
  // The slowest of its devices sets the pace: at 3, of the 3 s left 1 is done at factor 2, 2 are left at factor 3.
  CHECK(by_events(draft, {slowdown(1, 1, 2), slowdown(3, 0, 3)}).picture == "AB 0-9, AB 0-9");
  CHECK(by_events(draft, {slowdown(1, 1, 2), slowdown(3, 0, 1.5)}).picture == "AB 0-7, AB 0-7");
}

TEST_CASE("changes: aborted work counts as busy, and its memory is given back at once") {
  Draft draft{platform()};
  const LaneId a = draft.lane(0);
  draft.compute("F", OpKind::Forward, a, 2);
  draft.graph.take(draft.place(0), MemoryCategory::Stash, Bytes(10));
  draft.compute("B", OpKind::Backward, a, 2);
  draft.last().closes = true;
  draft.graph.take(draft.place(0), MemoryCategory::Workspace, Bytes(1));
  draft.graph.free(draft.place(0), MemoryCategory::Workspace, Bytes(1));
  draft.graph.free(draft.place(0), MemoryCategory::Stash, Bytes(10));
  const Run run = by_events(draft, {failure(1, 0, 1), failure(5, 0, 1)});
  CHECK(run.picture == "F 0-1!, F 2-4, B 4-5!, B 6-8");
  const DeviceReport& device = run.report.devices[0];
  CHECK(device.busy == Seconds(6));
  CHECK(device.time.idle == Seconds(2));
  CHECK(device.memory.peak == Bytes(11));
  CHECK(device.memory.peak_at == Seconds(4));
  CHECK(device.in_flight_peak == 1);
}

TEST_CASE("changes: a bandwidth that changes during the latency, during the bytes, and at the end") {
  // Latency 1, then 4 bytes at 1 B/s: 0 to 5. Link 0 is gpu0->gpu1.
  Draft draft{platform({.latency = 1})};
  draft.lane(0);
  draft.send("x", 0, 1, 4);
  CHECK(by_events(draft).picture == "x 0-5");
  CHECK(by_events(draft, {bandwidth(0.5, 0, 2)}).picture == "x 0-3");  // 1 + 4 / 2
  CHECK(by_events(draft, {bandwidth(2, 0, 2)}).picture == "x 0-3.5");  // 1 byte by 2, 3 bytes at 2 B/s
  CHECK(by_events(draft, {bandwidth(3, 0, 0.5)}).picture == "x 0-7");  // 2 bytes by 3, 2 bytes at 0.5 B/s
  CHECK(by_events(draft, {bandwidth(5, 0, 0.5)}).picture == "x 0-5");  // too late
  CHECK(by_events(draft, {bandwidth(2, 1, 0.5)}).picture == "x 0-5");  // the other direction
  CHECK(by_events(draft, {bandwidth(2, 0, 2), bandwidth(3, 0, 0.5)}).picture == "x 0-5");  // 1 + 2 + 1 in 2 s
}

TEST_CASE("changes: a bandwidth holds for later transfers and after an abort") {
  Draft draft{platform()};
  const LaneId a = draft.lane(0);
  const OpId f = draft.compute("F", OpKind::Forward, a, 3);
  draft.send("x", 0, 1, 4, {f});
  CHECK(by_events(draft, {bandwidth(1, 0, 2)}).picture == "F 0-3, x 3-5");
  CHECK(by_events(draft, {bandwidth(1, 0, 2), failure(4, 1, 1)}).picture == "F 0-3, x 3-4!, x 5-7");
  check_windows(draft, {bandwidth(1, 0, 2), failure(4, 1, 1)});
}
