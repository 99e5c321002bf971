// Two runs of one device, and of two: when the longer one passes through a state twice.
#include "sim/engine/repeated_state.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>

namespace stagecraft {
namespace {

TimelineEntry entry(OpKind kind, std::uint32_t place, std::uint32_t microbatch, double start, double end) {
  TimelineEntry made;
  made.kind = kind;
  made.microbatch = microbatch;
  made.stage = StageId(place);
  made.from = made.to = PlaceId(place);
  made.start = Seconds(start);
  made.end = Seconds(end);
  return made;
}

/// The device fills for 5 s, takes 2 s for each microbatch, and flushes for 3 s.
Timeline filled_and_flushed(std::uint32_t microbatches) {
  Timeline run{entry(OpKind::Setup, 0, 0, 0, 5)};
  for (std::uint32_t m = 0; m < microbatches; ++m) run.push_back(entry(OpKind::Forward, 0, m, 5 + 2 * m, 7 + 2 * m));
  const double end = 5 + 2 * microbatches;
  run.push_back(entry(OpKind::Update, 0, 0, end, end + 3));
  return run;
}

/// The gaps between microbatches are 1 s and 2 s in turn.
Timeline in_turn(std::uint32_t microbatches) {
  Timeline run;
  for (std::uint32_t m = 0; m < microbatches; ++m) {
    const double start = 1.5 * m + (m % 2 == 0 ? 0.0 : 0.25);
    run.push_back(entry(OpKind::Forward, 0, m, start, start + 1));
  }
  return run;
}

/// A second device takes 3 s for what the first one sends it every 2 s, so work piles up between them.
Timeline piling_up(std::uint32_t microbatches) {
  Timeline run;
  for (std::uint32_t m = 0; m < microbatches; ++m) run.push_back(entry(OpKind::Forward, 0, m, 2 * m, 2 * m + 2));
  for (std::uint32_t m = 0; m < microbatches; ++m) run.push_back(entry(OpKind::Forward, 1, m, 2 + 3 * m, 5 + 3 * m));
  return run;
}

}  // namespace

TEST_CASE("repeated state: between what both begin with and what both end with, a period later") {
  const auto state = repeated_state(filled_and_flushed(6), filled_and_flushed(7), RunClock::Sums);
  REQUIRE(state);
  CHECK(state->period == Seconds(2));
  CHECK(state->from == Seconds(5));    // the filling ends
  CHECK(state->until == Seconds(17));  // the shorter one begins to flush, and the longer one has a microbatch more
  CHECK(state->times() == 7.0);
}

TEST_CASE("repeated state: none where one device is ahead of the other by ever more") {
  for (const std::uint32_t more : {1U, 2U, 3U, 6U}) {
    CHECK_FALSE(repeated_state(piling_up(40), piling_up(40 + more), RunClock::Sums));
  }
  CHECK_FALSE(repeating_steps(piling_up(40), 1, RunClock::Sums));
}

TEST_CASE("repeated state: none where a device falls behind by a tiny part of short times") {
  const auto drifting = [](std::uint32_t microbatches) {
    constexpr double kTime = 1e-9;
    Timeline run;
    for (std::uint32_t m = 0; m < microbatches; ++m) {
      const double second = kTime + m * kTime * 1.001;
      run.push_back(entry(OpKind::Forward, 0, m, m * kTime, (m + 1) * kTime));
      run.push_back(entry(OpKind::Forward, 1, m, second, second + kTime * 1.001));
    }
    return run;
  };
  CHECK_FALSE(repeated_state(drifting(20), drifting(21), RunClock::Sums));
  CHECK_FALSE(repeated_state(drifting(20), drifting(21), RunClock::SimGrid));
}

TEST_CASE("repeated state: what comes again every second microbatch does so for runs that differ by two") {
  CHECK_FALSE(repeated_state(in_turn(20), in_turn(21), RunClock::Sums));
  CHECK(repeating_steps(in_turn(20), 1, RunClock::Sums) == std::optional<std::int64_t>(2));
  CHECK(repeating_steps(in_turn(20), 2, RunClock::Sums) == std::optional<std::int64_t>(1));
  CHECK(repeating_steps(filled_and_flushed(20), 1, RunClock::Sums) == std::optional<std::int64_t>(1));
  const auto state = repeated_state(in_turn(20), in_turn(22), RunClock::Sums);
  REQUIRE(state);
  CHECK(state->period == Seconds(3));
}

TEST_CASE("repeated state: none for runs of the same length, nor where the longer one ends otherwise") {
  CHECK_FALSE(repeated_state(filled_and_flushed(6), filled_and_flushed(6), RunClock::Sums));
  Timeline other = filled_and_flushed(7);
  other.back().bytes = Bytes(1);
  CHECK_FALSE(repeated_state(filled_and_flushed(6), other, RunClock::Sums));
  other = filled_and_flushed(7);
  other.back().kind = OpKind::Delay;
  CHECK_FALSE(repeated_state(filled_and_flushed(6), other, RunClock::Sums));
}

TEST_CASE("repeated state: runs are alike if they do the same at the same dates, in whatever order they are listed") {
  const Timeline run = piling_up(5);
  Timeline other(run.rbegin() + 5, run.rend());
  std::ranges::reverse(other);
  other.insert(other.begin(), run.begin() + 5, run.end());
  CHECK(are_alike(run, other));
  other.back().end += Seconds(1e-6);
  CHECK_FALSE(are_alike(run, other));
  CHECK_FALSE(are_alike(run, piling_up(6)));
}

}  // namespace stagecraft
