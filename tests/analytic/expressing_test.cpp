// Each construct of docs/explanation/expressing.md as a small operation graph, run and compared with times by hand.

#include "tests/analytic/run.hpp"

#include <doctest/doctest.h>

#include <memory>

using namespace stagecraft;
using namespace stagecraft::hand_made;

namespace {

constexpr auto kStash = MemoryCategory::Stash;
constexpr auto kWorkspace = MemoryCategory::Workspace;

}  // namespace

TEST_CASE("expressing, operations: several stages on one device") {
  // A V: stages 0 and 3 on gpu0, 1 and 2 on gpu1. Between 1 and 2 nothing is sent.
  Draft draft{platform()};
  const LaneId a = draft.lane(0);
  const LaneId b = draft.lane(1);
  const OpId f0 = draft.compute("F0", OpKind::Forward, a, 1, {}, 0, 0);
  const OpId x = draft.send("x", 0, 1, 1, {f0});
  const OpId f1 = draft.compute("F1", OpKind::Forward, b, 1, {x}, 0, 1);
  const OpId f2 = draft.compute("F2", OpKind::Forward, b, 1, {f1}, 0, 2);
  const OpId y = draft.send("y", 1, 0, 1, {f2});
  draft.compute("F3", OpKind::Forward, a, 1, {y}, 0, 3);
  const Run run = both_ways(draft);
  CHECK(run.picture == "F0 0-1, x 1-2, F1 2-3, F2 3-4, y 4-5, F3 5-6");
  CHECK(run.report.devices[0].stages == std::vector{StageId(0), StageId(3)});
  CHECK(run.report.devices[0].in_flight_peak == 2);
  check_windows(draft);
}

TEST_CASE("expressing, operations: two pipelines in opposite directions over one device") {
  // Stages 0, 1 run down from gpu0, stages 2, 3 (the same layers) up from gpu1; the lanes carry both.
  Draft draft{platform({.bandwidth = 1024})};
  const LaneId a = draft.lane(0);
  const LaneId b = draft.lane(1);
  const OpId down = draft.compute("D0", OpKind::Forward, a, 1, {}, 0, 0);
  const OpId up = draft.compute("U0", OpKind::Forward, b, 1, {}, 1, 2);
  draft.compute("D1", OpKind::Forward, b, 1, {down}, 0, 1);
  draft.compute("U1", OpKind::Forward, a, 1, {up}, 1, 3);
  const Run run = both_ways(draft);
  CHECK(run.picture == "D0 0-1, U0 0-1, D1 1-2, U1 1-2");
  CHECK(run.report.bubble_ratio == 0.0);
}

TEST_CASE("expressing, operations: a backward in two halves, each with its own releases") {
  Draft draft{platform()};
  const LaneId a = draft.lane(0);
  const OpId f = draft.compute("F", OpKind::Forward, a, 1);
  draft.graph.take(draft.place(0), kStash, Bytes(10));
  const OpId i = draft.compute("I", OpKind::BackwardInput, a, 1, {f});
  draft.graph.free(draft.place(0), kStash, Bytes(6));
  draft.send("g", 0, 1, 1, {i});  // the gradient leaves at the end of the input half
  draft.compute("F'", OpKind::Forward, a, 1, {}, 1);
  draft.graph.take(draft.place(0), kStash, Bytes(10));
  draft.compute("W", OpKind::BackwardWeight, a, 1, {i});
  draft.graph.free(draft.place(0), kStash, Bytes(4));
  draft.last().closes = true;
  const Run run = both_ways(draft);
  CHECK(run.picture == "F 0-1, I 1-2, g 2-3, F' 2-3, W 3-4");
  CHECK(run.report.devices[0].memory.peak == Bytes(14));  // 4 left of the first, 10 of the second
  CHECK(run.report.devices[0].memory.peak_at == Seconds(2));
  CHECK(run.report.devices[0].in_flight_peak == 2);
}

TEST_CASE("expressing, operations: an overlapped pair is one operation with a duration of its own") {
  // Apart they would take 1 + 2; together 2.5.
  Draft draft{platform()};
  const LaneId a = draft.lane(0);
  const OpId f0 = draft.compute("F0", OpKind::Forward, a, 1, {}, 0);
  draft.graph.take(draft.place(0), kStash, Bytes(10));
  draft.compute("F1+B0", OpKind::ForwardBackward, a, 2.5, {f0}, 1);
  draft.graph.take(draft.place(0), kStash, Bytes(10));
  draft.graph.free(draft.place(0), kStash, Bytes(10));
  draft.last().closes = true;
  draft.compute("B1", OpKind::Backward, a, 2, {}, 1);
  draft.graph.free(draft.place(0), kStash, Bytes(10));
  draft.last().closes = true;
  const Run run = both_ways(draft);
  CHECK(run.picture == "F0 0-1, F1+B0 1-3.5, B1 3.5-5.5");
  CHECK(run.report.devices[0].memory.peak == Bytes(20));
  CHECK(run.report.devices[0].in_flight_peak == 2);
}

TEST_CASE("expressing, operations: recompute") {
  // 2 of the 10 bytes of stash are kept. The other 8 are there from the recompute to the end of the backward.
  Draft draft{platform()};
  const LaneId a = draft.lane(0);
  draft.compute("F", OpKind::Forward, a, 1);
  draft.graph.take(draft.place(0), kStash, Bytes(2));
  draft.compute("R", OpKind::Recompute, a, 1);
  draft.graph.take(draft.place(0), kWorkspace, Bytes(8));
  draft.compute("B", OpKind::Backward, a, 2);
  draft.graph.free(draft.place(0), kWorkspace, Bytes(8));
  draft.graph.free(draft.place(0), kStash, Bytes(2));
  draft.last().closes = true;
  const Run run = both_ways(draft);
  CHECK(run.picture == "F 0-1, R 1-2, B 2-4");
  CHECK(run.report.devices[0].memory.peak == Bytes(10));
  CHECK(run.report.devices[0].memory.peak_at == Seconds(1));
  CHECK(run.report.recompute_time == Seconds(1));
}

TEST_CASE("expressing, operations: swap, with host memory as a place of the ledger") {
  // 8 bytes at 4 B/s: out 1-3, in from the end of another forward at 4: 4-6.
  Draft draft{platform({.memory = 20, .host_bandwidth = 4})};
  const LaneId a = draft.lane(0);
  const PlaceId gpu = draft.place(0);
  const PlaceId host = draft.host(0);
  const OpId f = draft.compute("F", OpKind::Forward, a, 1);
  draft.graph.take(gpu, kStash, Bytes(8));
  const OpId out = draft.transfer("out", OpKind::SwapOut, gpu, host, 8, {f});
  draft.graph.take(host, kStash, Bytes(8));
  draft.graph.free(gpu, kStash, Bytes(8));
  const OpId other = draft.compute("F'", OpKind::Forward, a, 3, {}, 1);
  draft.graph.take(gpu, kWorkspace, Bytes(11));
  draft.graph.free(gpu, kWorkspace, Bytes(11));
  const OpId in = draft.transfer("in", OpKind::SwapIn, host, gpu, 8, {out, other});
  draft.graph.take(gpu, kStash, Bytes(8));
  draft.graph.free(host, kStash, Bytes(8));
  draft.compute("B", OpKind::Backward, a, 2, {in});
  draft.graph.free(gpu, kStash, Bytes(8));
  draft.last().closes = true;
  const Run run = by_events(draft);  // a transfer changes the device's memory: not for one pass
  CHECK(run.picture == "F 0-1, out 1-3, F' 1-4, in 4-6, B 6-8");
  CHECK(run.report.devices[0].memory.peak == Bytes(19));  // 8 on the way out and 11 at 1
  CHECK(run.report.devices[0].time.exposed_communication == Seconds(2));
  REQUIRE(run.report.hosts.size() == 1);
  CHECK(run.report.hosts[0].memory.peak == Bytes(8));
  CHECK(run.report.hosts[0].memory.peak_at == Seconds(1));
  CHECK_FALSE(run.report.out_of_memory());
}

TEST_CASE("expressing, operations: a periodic pattern with given starts") {
  // Period 4: F at 0, B at 2.5 of each period, although the device would be free before.
  Draft draft{platform()};
  const LaneId a = draft.lane(0);
  for (std::uint32_t k = 0; k < 3; ++k) {
    const std::string number = std::to_string(k);
    const OpId f = draft.compute("F" + number, OpKind::Forward, a, 1, {}, k);
    draft.last().not_before = Seconds(4.0 * k);
    draft.compute("B" + number, OpKind::Backward, a, 1.5, {f}, k);
    draft.last().not_before = Seconds(4.0 * k + 2.5);
    draft.last().closes = true;
  }
  CHECK(both_ways(draft).picture == "F0 0-1, B0 2.5-4, F1 4-5, B1 6.5-8, F2 8-9, B2 10.5-12");
  check_windows(draft);
}

TEST_CASE("expressing, operations: an order, or priorities, for each device and each channel") {
  // Two transfers are ready at once on one channel; strict: as appended, ready: the more urgent first.
  for (const Discipline discipline : {Discipline::Strict, Discipline::Ready}) {
    Draft draft{platform()};
    const LaneId a = draft.lane(0);
    const LaneId channel = draft.channel(discipline);
    const OpId f = draft.compute("F", OpKind::Forward, a, 1);
    for (const char* name : {"x", "y"}) {
      draft.send(name, 0, 1, 1, {f});
      draft.last().lane = channel;
    }
    draft.last().priority = -1;
    CHECK(by_events(draft).picture ==
          (discipline == Discipline::Strict ? "F 0-1, x 1-2, y 2-3" : "F 0-1, y 1-2, x 2-3"));
  }
}

TEST_CASE("expressing, operations: classes of transfers, without contention, and priorities on an exclusive link") {
  // Here nothing has to give way: only replay shares links. Where a link serves one at a time, `priority` decides.
  for (const Sharing sharing : {Sharing::Fair, Sharing::Exclusive}) {
    Draft draft{platform({.sharing = sharing})};
    draft.lane(0);
    draft.send("swap", 0, 1, 2);
    draft.last().transfer_class = 1;
    draft.last().priority = 1;
    draft.send("x", 0, 1, 1);
    CHECK(by_events(draft).picture == (sharing == Sharing::Fair ? "swap 0-2, x 0-1" : "x 0-1, swap 1-3"));
  }
}

TEST_CASE("expressing, operations: a send that waits for its receive") {
  // gpu1 posts its receive after 3 s of other work; the transfer needs both the result and the post.
  Draft draft{platform()};
  const LaneId a = draft.lane(0);
  const LaneId b = draft.lane(1);
  const OpId f0 = draft.compute("F0", OpKind::Forward, a, 1);
  draft.compute("other", OpKind::Forward, b, 3, {}, 7, 1);
  const OpId post = draft.compute("post", OpKind::Post, b, 0);
  const OpId x = draft.send("x", 0, 1, 1, {f0, post});
  draft.compute("F1", OpKind::Forward, b, 1, {x}, 0, 1);
  CHECK(both_ways(draft).picture == "F0 0-1, other 0-3, post 3-3, x 3-4, F1 4-5");
  check_windows(draft);
}

TEST_CASE("expressing, operations: an operation that occupies several devices") {
  Draft draft{platform({.devices = 3})};
  const LaneId a = draft.lane(0);
  const LaneId b = draft.lane(1);
  const LaneId c = draft.lane(2);
  draft.compute("A", OpKind::Forward, a, 1);
  draft.compute("C", OpKind::Forward, c, 2);
  draft.compute("ABC", OpKind::Forward, a, 4, {}, 1);
  draft.graph.occupy(b);
  draft.graph.occupy(c);
  const Run run = both_ways(draft);
  CHECK(run.picture == "A 0-1, C 0-2, ABC 2-6, ABC 2-6, ABC 2-6");
  for (const double busy : {5.0, 4.0, 6.0}) {
    const auto device = static_cast<std::size_t>(busy > 5.5 ? 2 : busy < 4.5 ? 1 : 0);
    CHECK(run.report.devices[device].busy == Seconds(busy));
  }
}

TEST_CASE("expressing, operations: literal durations, of a transfer too") {
  Draft draft{platform({.bandwidth = 1, .latency = 5})};
  const LaneId a = draft.lane(0);
  const LaneId channel = draft.channel();
  const OpId f = draft.compute("F", OpKind::Forward, a, 0.75);
  draft.send("x", 0, 1, 1000, {f});
  draft.last().literal = true;
  draft.last().lane = channel;
  draft.last().seconds = Seconds(0.5);
  const Run run = both_ways(draft);
  CHECK(run.picture == "F 0-0.75, x 0.75-1.25");
  CHECK(run.report.links.empty());  // it crosses none
}

TEST_CASE("expressing, operations: an in-flight cap and weight versions") {
  // At most one microbatch in flight: F1 needs B0 although the device would be free. Two versions of 100 bytes.
  Draft draft{platform()};
  const LaneId a = draft.lane(0, Discipline::Ready);
  const LaneId b = draft.lane(1);
  Op setup;
  setup.kind = OpKind::Setup;
  draft.add("", setup);
  draft.graph.take(draft.place(0), MemoryCategory::Weights, Bytes(200));
  const OpId f0 = draft.compute("F0", OpKind::Forward, a, 1, {}, 0);
  const OpId g0 = draft.compute("G0", OpKind::Forward, b, 2, {f0}, 0, 1);
  const OpId b0 = draft.compute("B0", OpKind::Backward, a, 2, {g0}, 0);
  draft.last().closes = true;
  draft.compute("F1", OpKind::Forward, a, 1, {b0}, 1);
  const Run run = by_events(draft);
  CHECK(run.picture == "F0 0-1, G0 1-3, B0 3-5, F1 5-6");
  CHECK(run.report.devices[0].in_flight_peak == 1);
  CHECK(run.report.devices[0].memory.breakdown[0] == Bytes(200));
}

TEST_CASE("expressing, operations: a device's speed and a link's bandwidth that change at an instant") {
  Draft draft{platform()};
  const LaneId a = draft.lane(0);
  const OpId f = draft.compute("F", OpKind::Forward, a, 2);
  draft.send("x", 0, 1, 4, {f});
  const Events events = {{Seconds(1), std::nullopt, Slowdown{DeviceId(0), 2.0}},
                         {Seconds(5), std::nullopt, BandwidthChange{LinkId(0), BytesPerSecond(0.5)}}};
  // F: 1 s, then 1 s at half the speed; x: 2 bytes in 2 s, then 2 bytes at 0.5 B/s.
  CHECK(by_events(draft, events).picture == "F 0-3, x 3-9");
  check_windows(draft, events);
}

TEST_CASE("expressing, operations: an operation aborted and done again") {
  Draft draft{platform()};
  const LaneId a = draft.lane(0);
  const OpId f = draft.compute("F", OpKind::Forward, a, 2);
  draft.send("x", 0, 1, 2, {f});
  const Events events = {{Seconds(1), std::nullopt, Failure{DeviceId(0), Seconds(1)}},
                         {Seconds(5), std::nullopt, Failure{DeviceId(1), Seconds(3)}}};
  CHECK(by_events(draft, events).picture == "F 0-1!, F 2-4, x 4-5!, x 8-10");
  check_windows(draft, events);
}

TEST_CASE("expressing, operations: a plan, and a model, that change between two windows") {
  // After two microbatches at 1 s the source sees them and moves the stage to gpu1, where a forward takes 3 s: its
  // weights migrate first, and their memory with them.
  Draft draft{platform()};
  const LaneId a = draft.lane(0);
  const LaneId b = draft.lane(1);
  Op setup;
  setup.kind = OpKind::Setup;
  draft.add("", setup);
  draft.graph.take(draft.place(0), MemoryCategory::Weights, Bytes(4));
  draft.compute("F0", OpKind::Forward, a, 1, {}, 0);
  const OpId f1 = draft.compute("F1", OpKind::Forward, a, 1, {}, 1);
  const OpGraph first = draft.graph;
  const OpId move = draft.transfer("move", OpKind::Migration, draft.place(0), draft.place(1), 4, {f1});
  draft.graph.take(draft.place(1), MemoryCategory::Weights, Bytes(4));
  draft.graph.free(draft.place(0), MemoryCategory::Weights, Bytes(4));
  draft.compute("F2", OpKind::Forward, b, 3, {move}, 2);
  draft = closed(draft);
  const OpGraph second = window_of(draft.graph, first.ops.size(), draft.graph.ops.size());
  auto seen = std::make_shared<std::vector<Observation>>();
  OpSource source;
  source.next = [=, asked = 0](const Observation& observation) mutable -> std::optional<OpGraph> {
    seen->push_back(observation);
    if (++asked == 1) return first;
    return asked == 2 ? std::optional(second) : std::nullopt;
  };
  const Run run = hand_made::run(draft, source);
  CHECK(run.picture == "F0 0-1, F1 1-2, move 2-6, F2 6-9");
  CHECK(run.report.devices[0].memory.peak == Bytes(4));
  CHECK(run.report.devices[1].memory.peak == Bytes(4));
  CHECK(run.report.devices[1].memory.peak_at == Seconds(2));
  // gpu1 has nothing to do in the first window, so the second is asked for at once.
  CHECK((*seen)[1].now == Seconds(0));
}

TEST_CASE("expressing, operations: a source sees what the windows before have shown") {
  Draft draft{platform()};
  const LaneId a = draft.lane(0);
  draft.compute("F0", OpKind::Forward, a, 1, {}, 0);
  draft.compute("F1", OpKind::Forward, a, 1, {}, 1);
  draft.compute("B0", OpKind::Backward, a, 2, {}, 0);
  draft = closed(draft);
  const OpSource windows = cut(draft.graph, 1);
  auto seen = std::make_shared<std::vector<Observation>>();
  const OpSource source{[=](const Observation& observation) {
                          seen->push_back(observation);
                          return windows.next(observation);
                        },
                        false};
  CHECK(run(draft, source).picture == "F0 0-1, F1 1-2, B0 2-4");
  REQUIRE(seen->size() == 5);  // one more for the end
  CHECK((*seen)[1].now == Seconds(0));
  CHECK((*seen)[1].microbatches_injected == 1);  // F0 has started
  CHECK((*seen)[2].now == Seconds(1));
  CHECK((*seen)[2].microbatches_injected == 2);
  CHECK((*seen)[2].stages[StageId(0)] == StageObservation{1, 0, Seconds(1), Seconds(0)});
  CHECK((*seen)[3].now == Seconds(2));
  CHECK((*seen)[3].stages[StageId(0)] == StageObservation{1, 0, Seconds(1), Seconds(0)});  // F1 alone
}
