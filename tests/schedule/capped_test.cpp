// Orders of plans whose caps on microbatches in flight lie below what the schedule would keep.
#include "sim/analytic/evaluate_plan.hpp"
#include "sim/schedule/device_peaks.hpp"
#include "sim/schedule/kept_plan.hpp"
#include "tests/random_cases.hpp"
#include "tests/schedule/compiled.hpp"
#include "tests/schedule/orders_text.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace stagecraft {
namespace {

using testing::chain;
using testing::pairwise;
using testing::straight;

void cap_all(Plan& plan, std::int64_t cap) {
  for (Stage& stage : plan.stages) stage.in_flight = cap;
}

double iteration(const LayerGraph& graph, const Platform& platform, const Plan& plan) {
  return evaluate_plan(graph, platform, plan).iterations.back().value();
}

/// The most microbatches in flight by stage and place, counted from the spans.
std::map<std::pair<StageId, PlaceId>, std::int64_t> most_in_flight(const LayerGraph& graph, const Platform& platform,
                                                                   const Plan& plan, const LowerOptions& options = {}) {
  using Where = std::pair<StageId, PlaceId>;
  std::map<Where, std::vector<std::pair<double, int>>> changes;  // at the same time ends come first
  static_cast<void>(evaluate_plan(graph, platform, plan, options, {}, [&](const Span& span, const Op& op, auto) {
    if (op.kind == OpKind::Forward) changes[{op.stage, op.from}].emplace_back(span.start.value(), 1);
    if (op.closes) changes[{op.stage, op.from}].emplace_back(span.end.value(), -1);
  }));
  std::map<Where, std::int64_t> most;
  for (auto& [where, all] : changes) {
    std::ranges::sort(all);
    std::int64_t now = 0;
    for (const auto& [at, change] : all) most[where] = std::max(most[where], now += change);
  }
  return most;
}

struct CappedCase {
  LayerGraph graph;
  Platform platform;
  Plan plan;
};

/// Up to eight stages of unequal times, with transfers that take a fifth of a computation or nothing.
CappedCase capped_case(std::mt19937& random, const std::string& schedule, bool replicated) {
  const auto number = [&](std::size_t low, std::size_t high) { return low + random() % (high - low + 1); };
  const auto real = [&](double low, double high) { return std::uniform_real_distribution(low, high)(random); };
  const std::size_t stages = number(2, 8);
  CappedCase made{chain(stages, 1, 2, number(0, 1) == 0 ? 0 : 100), pairwise(4 * stages, real(200, 2000), 0.01),
                  straight(stages, static_cast<std::int64_t>(number(1, 60)), schedule)};
  for (Layer& layer : made.graph.layers) {
    layer.forward = Seconds(real(0.5, 2));
    layer.backward = Seconds(real(0.5, 4));
    layer.stash = Bytes(100);
  }
  std::size_t next = stages;
  for (Stage& stage : made.plan.stages) {
    if (!replicated || number(0, 2) > 0) continue;
    for (std::size_t more = number(1, 3); more > 0; --more) stage.replicas.emplace_back(DeviceId(next++));
    if (number(0, 2) == 0) stage.replication = Replication::Split;
  }
  made.plan.microbatch_size = 12;
  return made;
}

}  // namespace

// A microbatch is in flight at the first stage for p (f + b) at least, so K in flight end at most K in that time. The
// last stage, and any other, is busy for m (f + b); the first forward reaches it, and its gradient returns, in
// (p - 1) (f + b).
TEST_CASE("capped 1f1b: equal stages stay within a fifth of Little's bound, for every cap") {
  for (std::size_t p = 1; p <= 16; ++p) {
    const double f = p % 3 == 0 ? 2 : 1;
    const double b = p % 3 == 1 ? 2 : 1;
    const LayerGraph graph = chain(p, f, b);
    const Platform platform = pairwise(p);
    Plan plan = straight(p, 64, "1f1b");
    const double whole = iteration(graph, platform, plan);
    double before = kNever.value();
    for (std::size_t cap = 1; cap <= p; ++cap) {
      CAPTURE(p);
      CAPTURE(cap);
      cap_all(plan, static_cast<std::int64_t>(cap));
      const double depth = static_cast<double>(p);
      const double little = 64 * depth * (f + b) / static_cast<double>(cap);
      const double time = iteration(graph, platform, plan);
      CHECK(time >= little * (1 - 1e-9));
      CHECK(time <= 1.2 * std::max(little, (64 + depth - 1) * (f + b)));
      CHECK(time <= before * (1 + 1e-9));
      before = time;
    }
    CHECK(before == doctest::Approx(whole).epsilon(1e-12));  // a cap of p leaves 1F1B as it is
  }
}

// 64 microbatches of 30 ms on 8 equal stages. In turn, caps of 7 and 4 took 3.84 s and 9.33 s.
TEST_CASE("capped 1f1b: a cap a little below the depth costs little") {
  const LayerGraph graph = chain(8, 0.01, 0.02);
  const Platform platform = pairwise(8);
  Plan plan = straight(8, 64, "1f1b");
  for (const auto& [cap, little] :
       {std::pair(8, 64 * 0.03 * 8 / 8), std::pair(7, 64 * 0.03 * 8 / 7), std::pair(4, 64 * 0.03 * 8 / 4)}) {
    cap_all(plan, cap);
    CHECK(iteration(graph, platform, plan) <= 1.2 * little);
  }
}

TEST_CASE("capped schedules: no cap is slower than a smaller one, and every cap is kept, 300 random chains") {
  for (std::uint32_t seed = 1; seed <= testing::random_cases(300U); ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    CappedCase made = capped_case(random, seed % 3 == 0 ? "eager-1f1b" : "1f1b", seed % 2 == 0);
    const double free = iteration(made.graph, made.platform, made.plan);
    double before = kNever.value();
    for (std::int64_t cap = 1; cap <= 9; ++cap) {
      CAPTURE(cap);
      cap_all(made.plan, cap);
      const double time = iteration(made.graph, made.platform, made.plan);
      CHECK(time <= before * (1 + 1e-9));
      before = time;
      for (const auto& [where, most] : most_in_flight(made.graph, made.platform, made.plan)) CHECK(most <= cap);
    }
    cap_all(made.plan, 1000);  // no warm-up is that long
    CHECK(iteration(made.graph, made.platform, made.plan) <= std::min(before, free) * (1 + 1e-9));
  }
}

TEST_CASE(
    "capped schedules: a cap on one stage alone is never slower than a smaller one, and the ledger is the run's") {
  for (std::uint32_t seed = 1; seed <= testing::random_cases(200U); ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    CappedCase made = capped_case(random, "1f1b", seed % 2 == 0);
    Stage& capped = made.plan.stages[random() % made.plan.stages.size()];
    double before = kNever.value();
    for (std::int64_t cap = 1; cap <= 5; ++cap) {
      CAPTURE(cap);
      capped.in_flight = cap;
      const Report report = evaluate_plan(made.graph, made.platform, made.plan);
      CHECK(report.iterations.back().value() <= before * (1 + 1e-9));
      before = report.iterations.back().value();
      const ScheduleProgram program = require_schedule(made.graph, made.platform, made.plan);
      const auto peaks = device_peaks(made.graph, program);
      REQUIRE(peaks.has_value());
      for (std::size_t d = 0; d < report.devices.size(); ++d) {
        CHECK((*peaks)[d].second == report.devices[d].memory.peak);
        const StageId stage = program.kept->replicas[program.kept->replicas.on(report.devices[d].device).front()].stage;
        CHECK(report.devices[d].in_flight_peak <= program.in_flight[stage.value()]);
      }
    }
  }
}

// The measured part of a run is not a whole number of the steady state's repetitions, hence the tolerance.
TEST_CASE("capped pipedream: no cap has a longer period than a smaller one, 20 random chains") {
  for (std::uint32_t seed = 1; seed <= testing::random_cases(20U); ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    CappedCase made = capped_case(random, "pipedream", seed % 2 == 0);
    made.plan.microbatches = 300;
    double before = kNever.value();
    for (std::int64_t cap = 1; cap <= 8; ++cap) {
      CAPTURE(cap);
      cap_all(made.plan, cap);
      const double period = evaluate_plan(made.graph, made.platform, made.plan).period->value();
      CHECK(period <= before * 1.01);
      before = std::min(before, period);
      const ScheduleProgram program = require_schedule(made.graph, made.platform, made.plan);
      CHECK(program.weight_versions == program.in_flight);
      for (const auto& [where, most] : most_in_flight(made.graph, made.platform, made.plan)) {
        CHECK(most <= program.in_flight[where.first.value()]);
      }
    }
  }
}

TEST_CASE("capped 1f1b: segments, one after the other, are the whole order, also from the middle and again") {
  Plan plan = straight(5, 40, "1f1b");
  plan.stages[1].replicas.emplace_back(DeviceId(5));
  cap_all(plan, 3);
  const ScheduleProgram program = testing::compiled(plan);
  const Schedule whole = program.orders({0, 40});
  CHECK_FALSE(program.at_once);
  Schedule joined = program.orders({0, 3});
  for (const Segment segment : {Segment{3, 4}, Segment{4, 30}, Segment{30, 40}}) {
    const Schedule next = program.orders(segment);
    for (std::size_t d = 0; d < joined.devices.size(); ++d) {
      auto& actions = joined.devices[d].actions;
      actions.insert(actions.end(), next.devices[d].actions.begin(), next.devices[d].actions.end());
    }
  }
  CHECK(joined == whole);
  const ScheduleProgram copy = program;
  CHECK(copy.orders({30, 40}) == program.orders({30, 40}));
}

// Thousands of microbatches in segments: with K = 3 in flight on 4 stages of f + b = 3, Little's law gives 4 for each.
TEST_CASE("capped 1f1b: a long run keeps the speed of its begin") {
  Plan plan = straight(4, 5000, "1f1b");
  cap_all(plan, 3);
  const double time = iteration(chain(4, 1, 2), pairwise(4), plan);
  CHECK(time >= 5000 * 4.0 * (1 - 1e-9));
  CHECK(time <= 5000 * 4.0 * 1.2);
}

// Two stages, the second ten times as slow. Without a cap the first one would run all its forwards at once.
TEST_CASE("literal: a device that runs what is ready keeps its caps") {
  LayerGraph graph = chain(2, 1, 1);
  graph.layers[LayerId(1)].forward = Seconds(10);
  const Platform platform = pairwise(3);
  for (const bool replicated : {false, true}) {
    Plan plan = straight(2, 30, "literal");
    if (replicated) plan.stages[0].replicas.emplace_back(DeviceId(2));
    LowerOptions options;
    options.literal.emplace();
    const Replicas replicas(plan);
    for (ReplicaId id : replicas.all()) {
      DeviceOrder order{replicas[id].device, Discipline::Ready, {}};
      for (std::int64_t i = 0; i < replicas.count(id, 30); ++i) {
        for (const ActionKind kind : {ActionKind::Forward, ActionKind::Backward}) {
          Action action;
          action.kind = kind;
          action.stage = replicas[id].stage;
          action.microbatch = replicas.microbatch(id, i);
          action.priority = kind == ActionKind::Forward ? 0 : 1;
          order.actions.push_back(action);
        }
      }
      options.literal->devices.push_back(order);
    }
    const auto most_at_first = [&] { return most_in_flight(graph, platform, plan, options).begin()->second; };
    CHECK(most_at_first() > 10);
    for (std::int64_t cap : {1, 2, 5}) {
      plan.stages[0].in_flight = cap;
      CHECK(most_at_first() == cap);
    }
  }
}

}  // namespace stagecraft
