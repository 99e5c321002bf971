// The report of small runs, by hand: time splits, ratios, links, memory, synchronous and asynchronous.

#include "tests/analytic/run.hpp"

#include <doctest/doctest.h>

using namespace stagecraft;
using namespace stagecraft::hand_made;

namespace {

/// All idle time is in the ramps, unless `ramps` says otherwise.
TimeSplit split(double compute, double recompute, double exposed, double all_reduce, double update, double idle,
                std::optional<double> ramps = std::nullopt) {
  TimeSplit split;
  split.compute = Seconds(compute);
  split.recompute = Seconds(recompute);
  split.exposed_communication = Seconds(exposed);
  split.all_reduce = Seconds(all_reduce);
  split.update = Seconds(update);
  split.idle = Seconds(idle);
  split.ramps = Seconds(ramps.value_or(idle));
  return split;
}

OpId update(Draft& draft, const std::string& name, LaneId lane, double seconds, const std::vector<OpId>& after) {
  const OpId id = draft.compute(name, OpKind::Update, lane, seconds, after);
  draft.last().stage = StageId::none();
  return id;
}

}  // namespace

TEST_CASE("report: 1F1B of two stages and two microbatches") {
  // f = 1, b = 2, no transfer cost: T = (m + p - 1)(f + b) = 9, busy 6 of 9 on each device.
  Draft draft{platform({.bandwidth = 1024})};
  const LaneId a = draft.lane(0);
  const LaneId b = draft.lane(1);
  const OpId f00 = draft.compute("F00", OpKind::Forward, a, 1, {}, 0, 0);
  const OpId f01 = draft.compute("F01", OpKind::Forward, a, 1, {}, 1, 0);
  const OpId f10 = draft.compute("F10", OpKind::Forward, b, 1, {f00}, 0, 1);
  const OpId b10 = draft.compute("B10", OpKind::Backward, b, 2, {f10}, 0, 1);
  draft.last().closes = true;
  const OpId f11 = draft.compute("F11", OpKind::Forward, b, 1, {f01}, 1, 1);
  const OpId b11 = draft.compute("B11", OpKind::Backward, b, 2, {f11}, 1, 1);
  draft.last().closes = true;
  draft.compute("B00", OpKind::Backward, a, 2, {b10}, 0, 0);
  draft.last().closes = true;
  draft.compute("B01", OpKind::Backward, a, 2, {b11}, 1, 0);
  draft.last().closes = true;
  draft.measurement = {true, 4, 2, 0, 1};
  const Run run = both_ways(draft);
  CHECK(run.picture == "F00 0-1, F01 1-2, F10 1-2, B10 2-4, F11 4-5, B00 4-6, B11 5-7, B01 7-9");
  const Report& report = run.report;
  CHECK(report.iterations == std::vector{Seconds(9)});
  CHECK(report.throughput == doctest::Approx(8.0 / 9));
  CHECK(report.bubble_ratio == doctest::Approx(1.0 / 3));
  CHECK(report.span_bubble_ratio == doctest::Approx(3.0 / 9));   // gpu0: 0 to 9; gpu1: 1 to 7, no idle time
  CHECK(report.ideal_bubble_ratio == doctest::Approx(3.0 / 6));  // (p - 1) / m
  CHECK(report.devices[0].time == split(6, 0, 0, 0, 0, 3));
  CHECK(report.devices[1].time == split(6, 0, 0, 0, 0, 3));
  CHECK(report.devices[0].in_flight_peak == 2);
  CHECK(report.devices[1].in_flight_peak == 1);
  CHECK(report.devices[0].stages == std::vector{StageId(0)});
  CHECK(report.bottleneck->share == doctest::Approx(6.0 / 9));
}

TEST_CASE("report: idle time goes to the transfer, the all-reduce, or nobody") {
  // gpu0: F 0-1, waits for the gradient (4-6 under way, it starts at 4), B 6-8, update after the all-reduce 8-14,
  // 14-15. gpu1: waits for x 1-3 from its start at 1, F 3-4, then the all-reduce. Each sends, and receives, throughout.
  Draft draft{platform()};
  const LaneId a = draft.lane(0);
  const LaneId b = draft.lane(1);
  const OpId f0 = draft.compute("F0", OpKind::Forward, a, 1);
  const OpId x = draft.send("x", 0, 1, 2, {f0});
  const OpId f1 = draft.compute("F1", OpKind::Forward, b, 1, {x}, 0, 1);
  const OpId g = draft.transfer("g", OpKind::Gradient, draft.place(1), draft.place(0), 2, {f1});
  const OpId r = draft.compute("R", OpKind::Recompute, a, 0.5, {f0});
  const OpId b0 = draft.compute("B0", OpKind::Backward, a, 2, {g, r});
  draft.last().closes = true;
  Op mark;
  mark.kind = OpKind::CollectiveBegin;
  const OpId begin = draft.add("", mark, {b0});
  const OpId ar = draft.transfer("ar", OpKind::AllReduce, draft.place(0), draft.place(1), 3, {begin});
  const OpId ar1 = draft.transfer("ar1", OpKind::AllReduce, draft.place(1), draft.place(0), 6, {begin});
  mark.kind = OpKind::CollectiveEnd;
  const OpId end = draft.add("", mark, {ar, ar1});
  update(draft, "U", a, 1, {end});
  const Run run = both_ways(draft);
  CHECK(run.picture == "F0 0-1, x 1-3, R 1-1.5, F1 3-4, g 4-6, B0 6-8, ar 8-11, ar1 8-14, U 14-15");
  CHECK(run.report.devices[0].time == split(3, 0.5, 2, 6, 1, 2.5));  // idle: 1.5-4
  CHECK(run.report.devices[1].time == split(1, 0, 2, 6, 0, 6));      // idle: 0-1, 4-8 and 14-15
  CHECK(run.report.recompute_time == Seconds(0.5));
  CHECK(run.report.exposed_communication == Seconds(4));
  // gpu0: own 0 to 15, of which 4.5 busy; gpu1: 3 to 4. The largest time not busy over the longest extent.
  CHECK(run.report.span_bubble_ratio == doctest::Approx(10.5 / 15));
  REQUIRE(run.report.links.size() == 2);
  CHECK(run.report.links[0].bytes() == Bytes(5));  // gpu0->gpu1: x and ar
  CHECK(run.report.links[1].bytes() == Bytes(8));
  CHECK(run.report.links[1].utilisation == doctest::Approx(8.0 / 15));
  CHECK(run.report.bottleneck->kind == Bottleneck::Kind::Link);
  check_windows(draft);
}

TEST_CASE("report: waiting for a given start is not communication") {
  Draft draft{platform()};
  const LaneId b = draft.lane(1);
  const OpId x = draft.send("x", 0, 1, 2);
  draft.compute("F", OpKind::Forward, b, 1, {x});
  draft.last().not_before = Seconds(5);
  CHECK(both_ways(draft).report.devices[0].time == split(1, 0, 2, 0, 0, 3));
}

TEST_CASE("report: of dependencies that end together the youngest is the cause, both ways") {
  for (const bool swapped : {false, true}) {
    Draft draft{platform({.devices = 3})};
    const LaneId a = draft.lane(0);
    const LaneId b = draft.lane(1);
    const OpId f = draft.compute("F", OpKind::Forward, a, 2);
    const OpId x = draft.send("x", 2, 1, 2);
    const std::vector<OpId> after = swapped ? std::vector{x, f} : std::vector{f, x};
    draft.compute("G", OpKind::Forward, b, 1, after, 0, 1);
    CHECK(both_ways(draft).report.devices[1].time == split(1, 0, 2, 0, 0, 0));
    check_windows(draft);
  }
}

TEST_CASE("report: the figures are the last iteration's") {
  Draft draft{platform()};
  const LaneId a = draft.lane(0);
  OpId before = draft.compute("F0", OpKind::Forward, a, 2);
  before = draft.barrier();
  before = draft.compute("F1", OpKind::Forward, a, 3, {before});
  draft.last().not_before = Seconds(3);
  const OpId x = draft.send("x", 0, 1, 2, {before});
  Op end;
  end.kind = OpKind::Barrier;
  draft.add("", end, {x});
  const Run run = both_ways(draft);
  CHECK(run.picture == "F0 0-2, F1 3-6, x 6-8");
  CHECK(run.report.iterations == std::vector{Seconds(2), Seconds(6)});
  CHECK(run.report.devices[0].time == split(3, 0, 0, 0, 0, 3));
  CHECK(run.report.bubble_ratio == doctest::Approx(0.5));
  CHECK(run.report.links[0].bytes() == Bytes(2));
  CHECK(run.report.links[0].utilisation == doctest::Approx(2.0 / 6));
}

TEST_CASE("report: memory that does not fit is told with its place, its instant and its excess") {
  Draft draft{platform({.memory = 12})};
  const LaneId a = draft.lane(0);
  Op setup;
  setup.kind = OpKind::Setup;
  draft.add("", setup);
  draft.graph.take(draft.place(0), MemoryCategory::Weights, Bytes(5));
  for (std::uint32_t k = 0; k < 3; ++k) {
    draft.compute("F" + std::to_string(k), OpKind::Forward, a, 1, {}, k);
    draft.graph.take(draft.place(0), MemoryCategory::Stash, Bytes(4));
  }
  const Run run = both_ways(draft);
  CHECK(run.report.out_of_memory());
  CHECK(run.report.overflows == std::vector{MemoryOverflow{draft.place(0), Seconds(1), Bytes(5)}});  // 13 at 1, 17 at 2
  CHECK(run.report.devices[0].memory.peak == Bytes(17));
  CHECK(run.report.devices[0].memory.peak_at == Seconds(2));
  CHECK(run.report.figures().peak_memory.size() == 1);
}

TEST_CASE("report: an asynchronous run is measured between two marks, and what crosses them counts in part") {
  // gpu0: F_k at 3k for 1 s, B_k for 2 s: c_k = 3k + 3. Measured from c_0 = 3 to c_2 = 9.
  // gpu1: G_k of 2 s starts with the arrival of x_k, sent at the end of F_k: x_k 3k+1 to 3k+3, G_k 3k+3 to 3k+5.
  Draft draft{platform({.bandwidth = 2})};
  const LaneId a = draft.lane(0);
  const LaneId b = draft.lane(1);
  for (std::uint32_t k = 0; k < 4; ++k) {
    const std::string number = std::to_string(k);
    const OpId f = draft.compute("F" + number, OpKind::Forward, a, 1, {}, k, 0);
    const OpId x = draft.send("x" + number, 0, 1, 4, {f});
    draft.last().microbatch = k;
    const OpId backward = draft.compute("B" + number, OpKind::Backward, a, 2, {f}, k, 0);
    draft.last().closes = true;
    draft.compute("G" + number, OpKind::Forward, b, 2, {x}, k, 1);
    draft.last().closes = true;
    if (k != 0 && k != 2) continue;
    Op mark;
    mark.kind = OpKind::Barrier;
    mark.microbatch = k;
    draft.add("", mark, {backward});
  }
  draft.measurement = {false, 5, 2, 2, 1};
  const Run run = both_ways(draft);
  CHECK(run.picture ==
        "F0 0-1, x0 1-3, B0 1-3, G0 3-5, F1 3-4, x1 4-6, B1 4-6, G1 6-8, F2 6-7, x2 7-9, B2 7-9, G2 9-11, F3 9-10, "
        "x3 10-12, B3 10-12, G3 12-14");
  const Report& report = run.report;
  CHECK(report.period == Seconds(3));
  CHECK(report.iterations.empty());
  CHECK(report.throughput == doctest::Approx(5.0 / 3));
  CHECK(report.devices[0].time == split(6, 0, 0, 0, 0, 0));
  // gpu1: G0 3-5 and G1 6-8 inside; it waits for x1 5-6 and for x2 8-9.
  CHECK(report.devices[1].time == split(4, 0, 2, 0, 0, 0));
  CHECK(report.bubble_ratio == doctest::Approx(2.0 / 12));
  REQUIRE(report.links.size() == 1);
  CHECK(report.links[0].bytes() == Bytes(8));  // x1 and x2
  CHECK(report.links[0].utilisation == doctest::Approx(8.0 / 12));
  check_windows(draft);
}

TEST_CASE("report: pieces that cross the marks of an asynchronous run") {
  // Marks at 2 and 6 (B0, B1 on gpu0); on gpu1 a computation from 1 to 3, one from 5 to 9; a transfer from 0 to 8.
  Draft draft{platform()};
  const LaneId a = draft.lane(0);
  const LaneId b = draft.lane(1);
  Op mark;
  mark.kind = OpKind::Barrier;
  draft.send("x", 0, 1, 8);
  draft.compute("G0", OpKind::Forward, b, 2, {}, 0, 1);
  draft.last().not_before = Seconds(1);
  draft.compute("G1", OpKind::Recompute, b, 4, {}, 1, 1);
  draft.last().not_before = Seconds(5);
  const OpId b0 = draft.compute("B0", OpKind::Backward, a, 2, {}, 0, 0);
  draft.last().closes = true;
  draft.add("", mark, {b0});
  mark.microbatch = 1;
  const OpId b1 = draft.compute("B1", OpKind::Backward, a, 4, {}, 1, 0);
  draft.last().closes = true;
  draft.add("", mark, {b1});
  draft.measurement = {false, 1, 1, 1, 0, 1};
  const Report report = both_ways(draft).report;
  CHECK(report.period == Seconds(4));
  CHECK(report.devices[0].time == split(4, 0, 0, 0, 0, 0));
  CHECK(report.devices[1].time == split(1, 1, 0, 0, 0, 2, 0));
  CHECK(report.links[0].bytes() == Bytes(4));  // 4 of the 8 s
  CHECK(report.links[0].utilisation == doctest::Approx(1.0));
}
