#include "sim/engine/observations.hpp"

#include <doctest/doctest.h>

using namespace stagecraft;

namespace {

Op op_of(OpKind kind, StageId stage) {
  Op op;
  op.kind = kind;
  op.stage = stage;
  op.from = PlaceId(0);
  return op;
}

/// The last operation of a backward.
Op last_of(OpKind kind, StageId stage) {
  Op op = op_of(kind, stage);
  op.closes = true;
  return op;
}

}  // namespace

TEST_CASE("observations: counts and times are those since the last observation, by stage") {
  Observations observations(1);
  observations.add_stages(2);
  observations.inject(4);
  observations.inject(2);  // a later stage's forward of an earlier microbatch
  observations.end(op_of(OpKind::Forward, StageId(0)), Seconds(1));
  observations.end(op_of(OpKind::Forward, StageId(0)), Seconds(2));
  observations.end(last_of(OpKind::Backward, StageId(1)), Seconds(4));
  const Observation first = observations.take(Seconds(9));
  CHECK(first.now == Seconds(9));
  CHECK(first.microbatches_injected == 5);
  CHECK(first.stages[StageId(0)] == StageObservation{2, 0, Seconds(3), Seconds(0)});
  CHECK(first.stages[StageId(1)] == StageObservation{0, 1, Seconds(0), Seconds(4)});
  const Observation second = observations.take(Seconds(10));
  CHECK(second.microbatches_injected == 5);
  CHECK(second.stages[StageId(0)] == StageObservation{});
}

TEST_CASE("observations: a split backward counts once, with both halves' times") {
  Observations observations(1);
  observations.add_stages(1);
  observations.end(op_of(OpKind::BackwardInput, StageId(0)), Seconds(1));
  observations.end(last_of(OpKind::BackwardWeight, StageId(0)), Seconds(2));
  CHECK(observations.take(Seconds(0)).stages[StageId(0)] == StageObservation{0, 1, Seconds(0), Seconds(3)});
}

// A forward of 1 s, then a backward of two steps, each after its recomputation: 1 + 2 and 1 + 1 s. So a device works
// for 6 s.
TEST_CASE("observations: a backward of several steps counts once, with the time of its recomputation") {
  Observations observations(1);
  observations.add_stages(1);
  observations.end(op_of(OpKind::Forward, StageId(0)), Seconds(1));
  observations.end(op_of(OpKind::Recompute, StageId(0)), Seconds(1));
  observations.end(op_of(OpKind::Backward, StageId(0)), Seconds(2));
  observations.end(op_of(OpKind::Recompute, StageId(0)), Seconds(1));
  observations.end(last_of(OpKind::Backward, StageId(0)), Seconds(1));
  CHECK(observations.take(Seconds(6)).stages[StageId(0)] == StageObservation{1, 1, Seconds(1), Seconds(5)});
}

TEST_CASE("observations: a joined pair counts as a forward and a backward, with a time of its own") {
  Observations observations(1);
  observations.add_stages(1);
  observations.end(op_of(OpKind::Forward, StageId(0)), Seconds(1));
  observations.end(last_of(OpKind::ForwardBackward, StageId(0)), Seconds(4));
  const StageObservation expected{2, 1, Seconds(1), Seconds(0), 1, Seconds(4)};
  CHECK(observations.take(Seconds(5)).stages[StageId(0)] == expected);
}

TEST_CASE("observations: updates and marks are no part of a pass") {
  Observations observations(1);
  observations.add_stages(1);
  observations.end(op_of(OpKind::Update, StageId(0)), Seconds(3));
  observations.end(op_of(OpKind::Post, StageId(0)), Seconds(0));
  CHECK(observations.take(Seconds(3)).stages[StageId(0)] == StageObservation{});
}

TEST_CASE("observations: stages join while the run goes on, and transfers are not observed") {
  Observations observations(1);
  observations.add_stages(1);
  CHECK(observations.take(Seconds(0)).stages.size() == 1);
  observations.add_stages(2);
  observations.end(op_of(OpKind::Forward, StageId(2)), Seconds(1));
  observations.end(op_of(OpKind::Activation, StageId(2)), Seconds(1));
  observations.end(op_of(OpKind::Update, StageId::none()), Seconds(1));
  const Observation seen = observations.take(Seconds(0));
  REQUIRE(seen.stages.size() == 3);
  CHECK(seen.stages[StageId(2)] == StageObservation{1, 0, Seconds(1), Seconds(0)});
}

TEST_CASE("observations: what a device's computations took, beside what they take at its nominal speed") {
  Observations observations(2);
  observations.add_stages(1);
  Op forward = op_of(OpKind::Forward, StageId(0));
  forward.seconds = Seconds(2);
  forward.from = PlaceId(1);
  observations.end(forward, Seconds(3));
  Op update = op_of(OpKind::Update, StageId(0));  // counts too, although it is no part of a pass
  update.seconds = Seconds(1);
  update.from = PlaceId(1);
  observations.end(update, Seconds(1.5));
  const Observation seen = observations.take(Seconds(5));
  CHECK(seen.devices[DeviceId(0)] == DeviceObservation{});
  CHECK(seen.devices[DeviceId(1)] == DeviceObservation{Seconds(3), Seconds(4.5)});
  CHECK(observations.take(Seconds(6)).devices[DeviceId(1)] == DeviceObservation{});
}

TEST_CASE("observations: a changed link keeps its last bandwidth, and sums of observations add measurements only") {
  Observations observations(1);
  observations.add_stages(1);
  observations.change(LinkId(3), BytesPerSecond(5));
  observations.change(LinkId(1), BytesPerSecond(7));
  observations.change(LinkId(3), BytesPerSecond(6));
  observations.end(op_of(OpKind::Forward, StageId(0)), Seconds(1));
  Observation sum = observations.take(Seconds(1));
  observations.inject(4);
  observations.end(op_of(OpKind::Forward, StageId(0)), Seconds(2));
  sum.add(observations.take(Seconds(2)));
  CHECK(sum.now == Seconds(2));
  CHECK(sum.microbatches_injected == 5);
  CHECK(sum.stages[StageId(0)] == StageObservation{2, 0, Seconds(3), Seconds(0)});
  CHECK(sum.devices[DeviceId(0)].measured == Seconds(3));
  CHECK(sum.links == std::vector<LinkObservation>{{LinkId(3), BytesPerSecond(6)}, {LinkId(1), BytesPerSecond(7)}});
}

TEST_CASE("observations: devices that are down, in the order of their failures, and a run that goes back") {
  Observations observations(3);
  CHECK_FALSE(observations.take_news());
  observations.fail(DeviceId(2), Seconds(1));
  observations.fail(DeviceId(0), Seconds(2));
  observations.fail(DeviceId(2), Seconds(3));  // while it is down
  CHECK(observations.take_news());
  CHECK_FALSE(observations.take_news());
  CHECK(observations.take(Seconds(3)).down ==
        std::vector<DownObservation>{{DeviceId(2), Seconds(1)}, {DeviceId(0), Seconds(2)}});
  observations.inject(7);
  observations.recover(DeviceId(2));
  CHECK(observations.take_news());
  Observation sum = observations.take(Seconds(4));
  CHECK(sum.down == std::vector<DownObservation>{{DeviceId(0), Seconds(2)}});
  CHECK(sum.microbatches_injected == 8);
  observations.go_back(5);
  sum.add(observations.take(Seconds(5)));
  CHECK(sum.microbatches_injected == 5);
}
