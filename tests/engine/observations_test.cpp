#include "sim/engine/observations.hpp"

#include <doctest/doctest.h>

using namespace stagecraft;

namespace {

Op op_of(OpKind kind, StageId stage) {
  Op op;
  op.kind = kind;
  op.stage = stage;
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
  Observations observations;
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
  Observations observations;
  observations.add_stages(1);
  observations.end(op_of(OpKind::BackwardInput, StageId(0)), Seconds(1));
  observations.end(last_of(OpKind::BackwardWeight, StageId(0)), Seconds(2));
  CHECK(observations.take(Seconds(0)).stages[StageId(0)] == StageObservation{0, 1, Seconds(0), Seconds(3)});
}

// A forward of 1 s, then a backward of two steps, each after its recomputation: 1 + 2 and 1 + 1 s. So a device works
// for 6 s.
TEST_CASE("observations: a backward of several steps counts once, with the time of its recomputation") {
  Observations observations;
  observations.add_stages(1);
  observations.end(op_of(OpKind::Forward, StageId(0)), Seconds(1));
  observations.end(op_of(OpKind::Recompute, StageId(0)), Seconds(1));
  observations.end(op_of(OpKind::Backward, StageId(0)), Seconds(2));
  observations.end(op_of(OpKind::Recompute, StageId(0)), Seconds(1));
  observations.end(last_of(OpKind::Backward, StageId(0)), Seconds(1));
  CHECK(observations.take(Seconds(6)).stages[StageId(0)] == StageObservation{1, 1, Seconds(1), Seconds(5)});
}

TEST_CASE("observations: a joined pair counts as a forward and a backward, with a time of its own") {
  Observations observations;
  observations.add_stages(1);
  observations.end(op_of(OpKind::Forward, StageId(0)), Seconds(1));
  observations.end(last_of(OpKind::ForwardBackward, StageId(0)), Seconds(4));
  const StageObservation expected{2, 1, Seconds(1), Seconds(0), 1, Seconds(4)};
  CHECK(observations.take(Seconds(5)).stages[StageId(0)] == expected);
}

TEST_CASE("observations: updates and marks are no part of a pass") {
  Observations observations;
  observations.add_stages(1);
  observations.end(op_of(OpKind::Update, StageId(0)), Seconds(3));
  observations.end(op_of(OpKind::Post, StageId(0)), Seconds(0));
  CHECK(observations.take(Seconds(3)).stages[StageId(0)] == StageObservation{});
}

TEST_CASE("observations: stages join while the run goes on, and transfers are not observed") {
  Observations observations;
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
