// Orders of asynchronous plans with caps, whose replicas exchange gradients and update weights while the run goes on.
#include "sim/analytic/evaluate.hpp"
#include "sim/analytic/evaluate_plan.hpp"
#include "sim/schedule/kept_plan.hpp"
#include "sim/schedule/list/list_run.hpp"
#include "sim/schedule/list/repeated_period.hpp"
#include "sim/schedule/measured_part.hpp"
#include "sim/schedule/one_f_one_b.hpp"
#include "tests/random_cases.hpp"
#include "tests/schedule/compiled.hpp"
#include "tests/schedule/orders_text.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace stagecraft {
namespace {

using testing::chain;
using testing::pairwise;
using testing::straight;

struct AsynchronousCase {
  LayerGraph graph;
  Platform platform;
  Plan plan;
};

/// Two to five stages of one to three layers. Some have alternating replicas, or such that divide microbatches. An
/// all-reduce takes nothing to several times a computation, in buckets or at once, and so does an update.
AsynchronousCase asynchronous_case(std::uint32_t seed) {
  std::mt19937 random(seed);
  const auto number = [&](std::size_t low, std::size_t high) { return low + random() % (high - low + 1); };
  const auto real = [&](double low, double high) { return std::uniform_real_distribution(low, high)(random); };
  Plan plan = straight(number(2, 5), 60, "pipedream");
  plan.microbatch_size = 12;
  plan.rounds_per_update = static_cast<std::int64_t>(number(0, 2) == 0 ? number(2, 3) : 1);
  plan.training.gradient_bucket = Bytes(number(0, 1) == 0 ? 0 : 300);
  std::size_t layers = 0;
  std::size_t devices = 0;
  for (Stage& stage : plan.stages) {
    stage.layers.clear();
    for (std::size_t more = number(1, 3); more > 0; --more) stage.layers.emplace_back(layers++);
    stage.replicas.clear();
    for (std::size_t more = number(0, 1) == 0 ? 1 : number(2, 4); more > 0; --more) {
      stage.replicas.emplace_back(DeviceId(devices++));
    }
    if (number(0, 4) == 0) stage.replication = Replication::Split;
  }
  LayerGraph graph = chain(layers, 1, 2, number(0, 1) == 0 ? 1 : 100);
  const std::size_t largest = number(1, 3) * 200;
  for (Layer& layer : graph.layers) {
    layer.forward = Seconds(real(0.5, 2));
    layer.backward = Seconds(real(0.5, 4));
    layer.parameters = Bytes(number(0, 3) == 0 ? 0 : number(1, largest));
  }
  PlatformSpec spec = pairwise(devices, real(200, 2000), 0.01).spec;
  if (number(0, 1) == 0) spec.device_kinds[DeviceKindId(0)].update_bandwidth = BytesPerSecond(real(1e3, 1e4));
  return {std::move(graph), build_platform(std::move(spec)), std::move(plan)};
}

/// Without replicas, but with a second pipeline of two stages, which cuts the layers elsewhere. So a stage may exchange
/// its gradients with several others.
void add_pipeline(AsynchronousCase& made) {
  for (Stage& stage : made.plan.stages) stage.replicas.resize(1);
  const std::size_t layers = made.graph.layers.size();
  PlatformSpec spec = made.platform.spec;
  auto& devices = std::get<ExplicitForm>(spec.form).devices;
  for (const auto& [begin, end] : {std::pair(std::size_t{0}, layers / 2), std::pair(layers / 2, layers)}) {
    Stage stage;
    stage.pipeline = 1;
    for (std::size_t layer = begin; layer < end; ++layer) stage.layers.emplace_back(layer);
    stage.replicas.emplace_back(DeviceId(devices.size()));
    devices.push_back({"gpu" + std::to_string(devices.size()), DeviceKindId(0), std::nullopt});
    made.plan.stages.push_back(std::move(stage));
  }
  made.platform = build_platform(std::move(spec));
}

void cap_each(Plan& plan, std::optional<std::int64_t> cap) {
  for (Stage& stage : plan.stages) stage.in_flight = cap;
}

/// By microbatch: the end of its last backward in an evaluation.
std::vector<double> ends_of(const AsynchronousCase& made) {
  std::vector<double> ends(static_cast<std::size_t>(made.plan.microbatches));
  static_cast<void>(
      evaluate_plan(made.graph, made.platform, made.plan, {}, {}, [&](const Span& span, const Op& op, auto) {
        if (op.closes) ends[op.microbatch] = std::max(ends[op.microbatch], span.end.value());
      }));
  return ends;
}

/// The time per microbatch with which the run repeats itself for at least a quarter of its length, up to its last
/// eighth; none if it does not.
std::optional<double> repeated_period(const std::vector<double>& ends, std::size_t stride) {
  const std::size_t last = ends.size() - ends.size() / 8;
  for (std::size_t cycle = stride; cycle <= ends.size() / 4; cycle += stride) {
    const auto step = [&](std::size_t at) { return ends[at] - ends[at - cycle]; };
    bool repeats = true;
    for (std::size_t at = last - ends.size() / 4; at < last && repeats; ++at) {
      repeats = std::abs(step(at) - step(last)) < 1e-8;
    }
    if (repeats) return step(last) / static_cast<double>(cycle);
  }
  return std::nullopt;
}

std::optional<double> steady_period_of(AsynchronousCase made) {
  made.plan.microbatches = testing::draws_all() ? 2000 : 1000;
  return repeated_period(ends_of(made), static_cast<std::size_t>(whole_round(made.plan, Replicas(made.plan))));
}

}  // namespace

TEST_CASE("capped pipedream: no cap is slower than a smaller one or none, 120 random plans that exchange") {
  int compared = 0;
  int skipped = 0;
  for (std::uint32_t seed = 1; seed <= testing::random_cases(120U); ++seed) {
    CAPTURE(seed);
    AsynchronousCase made = asynchronous_case(seed);
    const std::int64_t natural = std::ranges::max(largest_warmups(made.plan)) + 1;
    double least = kNever.value();
    const std::optional<double> free = steady_period_of(made);
    for (std::int64_t cap = 1; cap <= natural + 1; ++cap) {
      CAPTURE(cap);
      cap_each(made.plan, cap);
      const std::optional<double> period = steady_period_of(made);
      ++(period ? compared : skipped);
      if (!period) continue;
      CHECK(*period <= least * (1 + 1e-9));
      if (free && cap >= natural) CHECK(*period <= *free * (1 + 1e-9));
      least = std::min(least, *period);
    }
  }
  CHECK(compared > testing::random_cases(200));
  CHECK(skipped <= compared / 20);
}

// Where runs of two lengths end, their orders may differ by what was in flight. Before that they are the same.
TEST_CASE("capped pipedream: the order does not depend on the length of the run, 100 random plans that exchange") {
  for (std::uint32_t seed = 1; seed <= testing::random_cases(100U); ++seed) {
    CAPTURE(seed);
    AsynchronousCase made = asynchronous_case(seed);
    cap_each(made.plan, 1 + seed % 4);
    const auto begin_with = [&](std::int64_t microbatches) {
      made.plan.microbatches = microbatches;
      return require_schedule(made.graph, made.platform, made.plan).orders({0, 20});
    };
    const Schedule shortest = begin_with(100);
    CHECK(begin_with(700) == shortest);
    CHECK(begin_with(5000) == shortest);
  }
}

// The evaluation is the reference: the run that chooses an order has its times.
TEST_CASE("capped runs: microbatches end as in an evaluation of the same order, 200 random plans that exchange") {
  for (std::uint32_t seed = 1; seed <= testing::random_cases(200U); ++seed) {
    CAPTURE(seed);
    AsynchronousCase made = asynchronous_case(seed);
    if (seed % 4 == 0) add_pipeline(made);
    made.plan.microbatches = 120;
    ScheduleProgram program = require_schedule(made.graph, made.platform, made.plan);
    const auto& kept = program.kept;
    const PlanContext context{made.graph, made.platform, kept->plan, kept->replicas, kept};
    const auto work = std::make_shared<const PipelineWork>(pipeline_work(context, true));
    ListRule rule{.turn = static_cast<Turn>(seed % 3), .caps = largest_warmups(kept->plan, 1 + seed % 2)};
    for (std::int64_t& cap : rule.caps) ++cap;
    const auto run = std::make_shared<ListRun>(kept, work, rule, false, made.plan.microbatches);
    program.orders = [run](Segment segment) { return run->take(segment.end); };
    std::vector<double> ends(120);
    evaluate(made.platform, lower(made.graph, made.platform, program).source, {},
             [&](const Span& span, const Op& op, auto) {
               if (op.closes) ends[op.microbatch] = std::max(ends[op.microbatch], span.end.value());
             });
    REQUIRE(run->ends().size() == ends.size());
    for (std::size_t k = 0; k < ends.size(); ++k) {
      CAPTURE(k);
      CHECK(run->ends()[k].value() == doctest::Approx(ends[k]).epsilon(1e-9));
    }
  }
}

TEST_CASE("capped runs: a repeated period is found for cycles of several strides, and none without one") {
  std::vector<Seconds> ends;
  Seconds now;
  for (std::size_t k = 0; k < 80; ++k) ends.push_back(now += Seconds(k % 6 == 0 ? 5 : 1));
  CHECK(repeated_period(ends, 2)->value() == doctest::Approx(10.0 / 6));
  CHECK(repeated_period(ends, 1)->value() == doctest::Approx(10.0 / 6));
  CHECK_FALSE(repeated_period(ends, 7).has_value());
  for (std::size_t k = 0; k < ends.size(); ++k) ends[k] = Seconds(std::sqrt(static_cast<double>(k)));
  CHECK_FALSE(repeated_period(ends, 1).has_value());
}

}  // namespace stagecraft
