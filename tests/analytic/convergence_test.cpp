#include "sim/schedule/convergence.hpp"

#include "sim/analytic/evaluate_plan.hpp"
#include "sim/schedule/schedule_family.hpp"
#include "tests/random_cases.hpp"
#include "tests/schedule/random_plans.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace stagecraft {
namespace {

using testing::chain;
using testing::pairwise;
using testing::random_case;
using testing::random_cases;
using testing::RandomCase;
using testing::straight;

RandomCase asynchronous_case(std::uint32_t seed) {
  RandomCase random = random_case(seed);
  random.plan.schedule.name = "pipedream";
  random.plan.rounds_per_update = seed % 4 == 0 ? 2 : 1;
  const ScheduleProgram program = require_schedule(random.graph, random.platform, random.plan);
  random.plan.microbatches = least_microbatches(program, Replicas(random.plan));
  return random;
}

struct Extended {
  Report report;
  RunLength length;
};
Extended extended(const RandomCase& of) {
  const ScheduleProgram program = require_schedule(of.graph, of.platform, of.plan);
  Extended result{{}, first_length(program)};
  std::optional<Seconds> bound;
  result.report = run_until_converged(program, result.length, [&](const RunLength& length) {
    LowerOptions options;
    options.head = length.head;
    Report report =
        evaluate_with_bound(of.graph, of.platform, with_length(of.graph, of.platform, program, length), options);
    if (!bound) bound = report.bound;
    report.bound = bound;
    return report;
  });
  return result;
}

/// Stage 1 takes 3.03 s for a microbatch and stage 0 only 3 s, but stage 0 has up to 20 microbatches in flight.
RandomCase slow_behind_a_queue() {
  RandomCase random{chain(2, 1, 2), pairwise(2), straight(2, 40, "pipedream")};
  random.graph.layers[LayerId(1)].forward = Seconds(1.0025);
  random.graph.layers[LayerId(1)].backward = Seconds(2.005);
  random.plan.schedule.parameters = {{"depth", std::int64_t{20}}};
  random.plan.stages[0].in_flight = 20;
  random.plan.stages[1].in_flight = 1;
  return random;
}

TEST_CASE("convergence: a converged period is that of a run ten times as long, 200 plans") {
  int converged = 0;
  for (int seed = 1; seed <= random_cases(200); ++seed) {
    CAPTURE(seed);
    const RandomCase random = asynchronous_case(static_cast<std::uint32_t>(seed));
    const Extended run = extended(random);
    if (!run.report.converged()) continue;
    ++converged;
    Plan longer = random.plan;
    longer.microbatches = 10 * run.length.microbatches;
    const Report reference = evaluate_plan(random.graph, random.platform, longer);
    CHECK(run.report.period->value() == doctest::Approx(reference.period->value()).epsilon(0.005));
  }
  CHECK(converged > random_cases(180));
}

/// The time that the device computes per microbatch, summed up layer by layer.
double time_per_microbatch(const RandomCase& of, const Stage& stage) {
  const double replicas = static_cast<double>(stage.replicas.size());  // alternating, or each with a share
  const double rounds = static_cast<double>(of.plan.rounds_per_update);
  double time = 0.0;
  double parameters = 0.0;
  for (LayerId layer : stage.layers) {
    time += of.graph.layers[layer].forward.value() + of.graph.layers[layer].backward.value();
    parameters += static_cast<double>(of.graph.layers[layer].parameters.value());
  }
  for (const Recompute& segment : actions_of<Recompute>(stage)) {
    for (LayerId layer : segment.layers) time += of.graph.layers[layer].forward.value();
  }
  const auto& bandwidth = of.platform.kind(DeviceId(0)).update_bandwidth;
  const double copies = static_cast<double>(1 + of.plan.training.gradient_copies + of.plan.training.optimizer_copies);
  const double update = bandwidth ? copies * parameters / bandwidth->value() : 0.0;
  const bool splits = stage.replication == Replication::Split;
  return time / replicas + update / (splits ? rounds : rounds * replicas);
}

TEST_CASE("convergence: a converged period is not below what the busiest device computes, 200 plans") {
  for (int seed = 1; seed <= random_cases(200); ++seed) {
    CAPTURE(seed);
    const RandomCase random = asynchronous_case(static_cast<std::uint32_t>(seed));
    const Extended run = extended(random);
    if (!run.report.converged()) continue;
    double busiest = 0.0;
    for (const Stage& stage : random.plan.stages) busiest = std::max(busiest, time_per_microbatch(random, stage));
    CHECK(run.report.period->value() >= busiest * (1.0 - 1e-3));
  }
}

TEST_CASE("convergence: what is periodic from the start is measured in the first run") {
  const RandomCase random{chain(3, 1, 2), pairwise(3), straight(3, 40, "pipedream")};
  const Extended run = extended(random);
  CHECK(run.report.converged());
  CHECK(run.report.period->value() == doctest::Approx(3.0).epsilon(1e-12));
  CHECK(run.length == first_length(require_schedule(random.graph, random.platform, random.plan)));
  // Two windows of 64 microbatches, 10 before and 10 after them, and the one that ends the first window's head.
  CHECK(run.length == RunLength{2 * 64 + 2 * 10 + 1, 0});
}

TEST_CASE("convergence: a longer run begins to measure where the one before it ended") {
  const RandomCase random{chain(3, 1, 2), pairwise(3), straight(3, 40, "pipedream")};
  const ScheduleProgram program = require_schedule(random.graph, random.platform, random.plan);
  const auto longer = longer_length(program, {149, 0});
  REQUIRE(longer);
  CHECK(*longer == RunLength{138 + 2 * 128 + 1 + 10, 138});  // from microbatch 138 on, 256 instead of 128
  const MeasuredPart part = measured_part(program, Replicas(random.plan), longer->microbatches, longer->head);
  CHECK(part.first == 138);
  CHECK(part.middle == 266);
  CHECK(part.last == 394);
  CHECK(!longer_length(program, {100'000, 0}));
}

// Stage 0 runs 20 forwards of 1 s, then in turn a backward (2 s) and a forward (1 s). Stage 1 ends its backward of
// microbatch k, from 0, at 1 + 3.0075 (k + 1). So stage 0 ends its own at 20 + 3 k + 2 as long as that is there in
// time, that is up to k = 15.9925 / 0.0075, or 2132; from then on it follows stage 1. Plans with caps have windows of
// 256.
TEST_CASE("convergence: two equal windows do not end a run that is faster than its slowest stage") {
  const RandomCase random = slow_behind_a_queue();
  const ScheduleProgram program = require_schedule(random.graph, random.platform, random.plan);
  const RunLength first = first_length(program);
  CHECK(first == RunLength{40 + 2 * 256 + 1 + 40, 0});
  const ScheduleProgram longer = with_length(random.graph, random.platform, program, first);
  Report early = evaluate_program(random.graph, random.platform, longer);
  CHECK(early.period->value() == doctest::Approx(3.0).epsilon(1e-12));
  CHECK(std::abs(early.drift.value()) < 1e-12);
  CHECK(early.converged());
  early.bound = evaluate_with_bound(random.graph, random.platform, longer).bound;
  REQUIRE(early.bound);
  CHECK(early.bound->value() == doctest::Approx(3.0075).epsilon(1e-12));
  CHECK(early.is_below_bound());
  CHECK(!early.converged());

  // The windows go from 40 to 552, to 1576, to 3624, and to 7720: the last is the first one behind microbatch 2132.
  const Extended run = extended(random);
  CHECK(run.length == RunLength{3624 + 4096 + 1 + 40, 3624});
  CHECK(run.report.period->value() == doctest::Approx(3.0075).epsilon(1e-12));
  CHECK(run.report.converged());
  const Report evaluated = evaluate_until_converged(random.graph, random.platform, program);
  CHECK(evaluated.period == run.report.period);
}

TEST_CASE("convergence: a period may be less than its bound by as much as two windows may differ") {
  Report report;
  report.drift = 0.0;
  report.period = Seconds(0.9991);
  report.bound = Seconds(1);
  CHECK(report.converged());
  report.period = Seconds(0.9989);
  CHECK(!report.converged());
  report.bound.reset();
  CHECK(report.converged());
}

TEST_CASE("convergence: the least run has one window, whose drift nobody knows") {
  Plan plan = straight(2, 22, "pipedream");
  const Report report = evaluate_plan(chain(2, 1, 2), pairwise(2), plan);
  CHECK(!report.drift);
  CHECK(!report.converged());
  plan.microbatches = 23;
  CHECK(evaluate_plan(chain(2, 1, 2), pairwise(2), plan).drift);
}

}  // namespace
}  // namespace stagecraft
