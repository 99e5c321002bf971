#include "planners/registry.hpp"
#include "planners/shared/costs/cost_model.hpp"
#include "sim/analytic/evaluate_plan.hpp"
#include "sim/base/error.hpp"
#include "sim/model/replicas.hpp"
#include "sim/schedule/schedule_family.hpp"
#include "tests/planners/fixtures.hpp"
#include "tests/planners/saving_fixtures.hpp"
#include "tests/random_cases.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <random>

namespace stagecraft::uniform_test {

using namespace stagecraft::testing;

namespace {

const PlannerInfo& uniform() { return find_planner("uniform"); }

Plan plan_of(const PlanResult& result) {
  REQUIRE(std::holds_alternative<Planned>(result));
  return std::get<Planned>(result).plan;
}

/// The smallest largest factor × sum over all ways to cut `times` from `begin` on.
double best_cut(const std::vector<double>& times, const std::vector<double>& factors, std::size_t begin,
                std::size_t piece) {
  double sum = 0.0;
  double best = std::numeric_limits<double>::infinity();
  for (std::size_t end = begin + 1; end <= times.size(); ++end) {
    sum += times[end - 1];
    if (piece + 1 == factors.size()) {
      if (end == times.size()) return factors[piece] * sum;
      continue;
    }
    best = std::min(best, std::max(factors[piece] * sum, best_cut(times, factors, end, piece + 1)));
  }
  return best;
}

double largest_time(const LayerGraph& graph, const Platform& platform, const Plan& plan) {
  double largest = 0.0;
  for (const Stage& stage : plan.stages) {
    double sum = 0.0;
    for (LayerId layer : stage.layers) sum += 3 * graph.layers[layer].forward.value();
    largest = std::max(largest, sum * require_time_factor(platform, "A", stage.replicas[0].lead()));
  }
  return largest;
}

}  // namespace

TEST_CASE("uniform: cuts a chain where the largest stage time is smallest") {
  // Forward + backward: 3, 3, 6, 3, 3. On three devices the largest stage cannot be below 6: [3 3] [6] [3 3].
  const LayerGraph graph = chain({1, 1, 2, 1, 1});
  const Plan plan = plan_of(run_planner(uniform(), graph, flat_platform(3), {{"stages", "3"}}));
  CHECK(stage_names(graph, plan) == std::vector<std::vector<std::string>>{{"l0", "l1"}, {"l2"}, {"l3", "l4"}});
  CHECK(plan.stages[2].replicas == std::vector<Group>{DeviceId(2)});
  // (8 microbatches + 3 stages - 1) x 6 s.
  CHECK(plan.predicted.iteration_time->value() == doctest::Approx(60.0).epsilon(1e-12));
}

TEST_CASE("uniform: equals the best of all cuts on 100 random chains and device speeds") {
  for (unsigned seed = 1; seed <= 100; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    const std::size_t layers = 2 + random() % 8;
    const std::size_t devices = 1 + random() % std::min<std::size_t>(layers, 4);
    std::vector<double> times(layers);
    for (double& time : times) time = static_cast<double>(random() % 10);
    PlatformSpec spec = flat_platform(devices).spec;
    spec.device_kinds.push_back({"B", Bytes(1'000'000), 0.5, Bytes(0), std::nullopt});
    auto& form = std::get<ExplicitForm>(spec.form);
    std::vector<double> factors;
    for (ExplicitDevice& device : form.devices) {
      device.kind = DeviceKindId(random() % 2);
      factors.push_back(device.kind == DeviceKindId(0) ? 1.0 : 2.0);
    }
    const Platform platform = build_platform(spec);
    const LayerGraph graph = chain(times);
    const Plan plan = plan_of(run_planner(uniform(), graph, platform, {{"replicas", "1"}}));
    REQUIRE(plan.stages.size() == devices);
    std::size_t covered = 0;
    for (const Stage& stage : plan.stages) {
      CHECK_FALSE(stage.layers.empty());
      for (LayerId layer : stage.layers) CHECK(layer.value() == covered++);
    }
    CHECK(covered == layers);
    CHECK(largest_time(graph, platform, plan) == doctest::Approx(3 * best_cut(times, factors, 0, 0)).epsilon(1e-12));
  }
}

TEST_CASE("uniform: replicas take consecutive devices and the claim counts rounds") {
  const LayerGraph graph = chain({1, 1, 1, 1});
  const Plan plan = plan_of(run_planner(uniform(), graph, flat_platform(5), {{"replicas", "2"}}));
  REQUIRE(plan.stages.size() == 2);
  CHECK(plan.stages[1].replicas == std::vector<Group>{DeviceId(2), DeviceId(3)});
  // 8 microbatches over 2 replicas are 4 rounds of 6 s stages, and an all-reduce of 200 B: (4 + 2 - 1) x 6 s + 2 s.
  CHECK(plan.predicted.iteration_time->value() == doctest::Approx(32.0).epsilon(1e-12));
}

TEST_CASE("uniform: fewer layers than devices leave devices unused, unless there may be replicas") {
  const LayerGraph graph = chain({1, 2});
  const Plan straight = plan_of(run_planner(uniform(), graph, flat_platform(4), {{"replicas", "1"}}));
  CHECK(Replicas(straight).size() == 2);
  CHECK(Replicas(plan_of(run_planner(uniform(), graph, flat_platform(4)))).size() == 4);
}

TEST_CASE("uniform: leaves devices idle where an all-reduce takes longer than their replicas save") {
  // 100 B at 8 B/s. One device: 8 x 3 s. Two: 4 x 3 s + 12.5 s, and eight: 3 s + 2 (7 / 8) 12.5 s are more.
  const Plan alone = plan_of(run_planner(uniform(), chain({1}), flat_platform(8, 8.0)));
  CHECK(Replicas(alone).size() == 1);
  CHECK(alone.predicted.iteration_time->value() == doctest::Approx(24.0).epsilon(1e-12));
  // 8 microbatches take two rounds on five devices, and on four, whose all-reduce is shorter: 2 x 3 s + 2 (3 / 4) 1 s.
  const Plan even = plan_of(run_planner(uniform(), chain({1}), flat_platform(5)));
  CHECK(Replicas(even).size() == 4);
  CHECK(even.predicted.iteration_time->value() == doctest::Approx(7.5).epsilon(1e-12));
}

TEST_CASE("uniform: an asynchronous plan updates after the samples that are asked for") {
  // On four stages the first has three forwards ahead of its first backward, so pipedream-2bw needs updates of three
  // microbatches or more.
  const LayerGraph graph = chain({1, 1, 1, 1});
  const Platform platform = flat_platform(4);
  const auto plan = [&](std::int64_t microbatches, const char* replicas) {
    PlanRequest request{
        graph,
        platform,
        {"pipedream-2bw", {}},
        32,
        {},
        parse_options(uniform(), {{"stages", replicas == std::string("1") ? "4" : "2"}, {"replicas", replicas}})};
    request.samples_per_update = microbatches * graph.microbatch_size;
    return uniform().plan(request);
  };
  CHECK(plan_of(plan(16, "1")).rounds_per_update == 16);
  CHECK(plan_of(plan(16, "2")).rounds_per_update == 8);
  CHECK(plan_of(plan(3, "1")).rounds_per_update == 3);
  CHECK_THROWS_AS(plan(2, "1"), InputError);
}

TEST_CASE("uniform: as many replicas as are asked for, also where fewer are faster") {
  const Plan plan = plan_of(run_planner(uniform(), chain({1}), flat_platform(8, 8.0), {{"replicas", "8"}}));
  CHECK(Replicas(plan).size() == 8);
}

/// The claim and the evaluated time of what uniform answers; none if nothing fits.
struct Times {
  Seconds claim;
  Seconds evaluated;
};

std::optional<Times> times_of(const LayerGraph& graph, const Platform& platform, const std::string& schedule,
                              const MemoryPolicy policy, const GivenOptions& options) {
  PlanRequest request{graph, platform, {schedule, {}}, 12, {}, parse_options(uniform(), options)};
  request.memory = policy;
  const PlanResult result = uniform().plan(request);
  const auto* planned = std::get_if<Planned>(&result);
  if (planned == nullptr) return std::nullopt;
  const Report report = evaluate_until_converged(graph, platform, require_schedule(graph, platform, planned->plan));
  return Times{claimed_time(planned->plan), report.period ? *report.period : report.iterations.back()};
}

TEST_CASE("uniform: none of the six shapes with the best claims is faster, with much memory or little") {
  std::size_t replicated = 0;
  std::size_t little = 0;
  std::size_t misclaimed = 0;
  for (unsigned seed = 1; seed <= 60; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    const LayerGraph graph = stashing_chain(random, 4 + random() % 8);
    const std::size_t devices = 2 + random() % 7;
    const std::string schedule = random() % 2 == 0 ? "1f1b" : "pipedream";
    const Platform platform =
        swapping_platform(devices, Bytes(1000 + static_cast<std::int64_t>(random() % 6000)), 50.0);
    const MemoryPolicy policy = random() % 2 == 0 ? MemoryPolicy::Keep : MemoryPolicy::Cheapest;
    const std::optional<Times> chosen = times_of(graph, platform, schedule, policy, {});
    std::vector<Times> shapes;
    const std::size_t most = std::min(devices, graph.layers.size());
    for (std::size_t stages = 1; stages <= most; ++stages) {
      const GivenOptions options = {{"stages", std::to_string(stages)}, {"replicas", std::to_string(devices / stages)}};
      if (const auto times = times_of(graph, platform, schedule, policy, options)) shapes.push_back(*times);
    }
    REQUIRE(chosen.has_value() == !shapes.empty());
    if (!chosen) continue;
    std::ranges::sort(shapes, {}, &Times::claim);
    if (shapes.size() < most) ++little;
    if (shapes.size() > 6) shapes.resize(6);
    CHECK(chosen->evaluated <= std::ranges::min_element(shapes, {}, &Times::evaluated)->evaluated);
    if (chosen->claim > shapes.front().claim) ++misclaimed;
    const std::optional<Times> straight = times_of(graph, platform, schedule, policy, {{"replicas", "1"}});
    if (!straight || chosen->evaluated < straight->evaluated) ++replicated;
  }
  CHECK(replicated > 5);
  CHECK(little > 5);
  CHECK(misclaimed > 0);
}

TEST_CASE("uniform: a schedule of several chunks gets as many stages on each device, and the claim fills by stages") {
  // Eight layers of 3 s on two devices, four stages: 4 microbatches of 12 s on a device, and (2 - 1) stages of 6 s.
  LayerGraph graph = testing::chain({1, 1, 1, 1, 1, 1, 1, 1});
  for (LayerEdge& edge : graph.edges) edge.bytes = Bytes(0);
  const Platform platform = testing::flat_platform(2, 1000.0);
  const ScheduleChoice schedule{"interleaved-1f1b", {{"chunks", 2}}};
  const Options straight = parse_options(uniform(), {{"replicas", "1"}});
  const PlanResult result = uniform().plan({graph, platform, schedule, 4, {}, straight});
  const Plan& plan = std::get<Planned>(result).plan;
  REQUIRE(plan.stages.size() == 4);
  for (std::size_t s = 0; s < 4; ++s) {
    CHECK(plan.stages[s].layers.size() == 2);
    CHECK(plan.stages[s].replicas.front() == Group(DeviceId(s % 2)));
  }
  CHECK(plan.predicted.iteration_time->value() == doctest::Approx(54.0).epsilon(1e-12));
}

TEST_CASE("uniform: stages of several chunks have replicas too") {
  LayerGraph graph = testing::chain({1, 1, 1, 1, 1, 1, 1, 1});
  for (LayerEdge& edge : graph.edges) edge.bytes = Bytes(0);
  for (Layer& layer : graph.layers) layer.parameters = Bytes(0);
  const Platform platform = testing::flat_platform(6, 1000.0);
  const ScheduleChoice schedule{"interleaved-1f1b", {{"chunks", 2}}};
  const Options four = parse_options(uniform(), {{"stages", "4"}});
  const PlanResult result = uniform().plan({graph, platform, schedule, 12, {}, four});
  const Plan& plan = std::get<Planned>(result).plan;
  for (std::size_t s = 0; s < 4; ++s) {
    const auto first = static_cast<std::uint32_t>(3 * (s % 2));
    CHECK(plan.stages[s].replicas == std::vector<Group>{DeviceId(first), DeviceId(first + 1), DeviceId(first + 2)});
  }
  // As above on two devices: four microbatches of 12 s, and a stage of 6 s.
  CHECK(plan.predicted.iteration_time->value() == doctest::Approx(54.0).epsilon(1e-12));
}

TEST_CASE(
    "uniform: equal stages and free transfers take the claimed time, in every synchronous family with a closed form") {
  for (unsigned seed = 1; seed <= (testing::draws_all() ? 60U : 24U); ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    const std::vector<std::string> families = {"gpipe", "1f1b", "eager-1f1b", "interleaved-1f1b"};
    const std::string family = families[seed % 4];
    CAPTURE(family);
    const std::size_t devices = 1 + random() % 6;
    const std::size_t chunks = family == "interleaved-1f1b" ? 2 + random() % 3 : 1;
    const std::size_t layers = 1 + random() % 3;  // in a stage
    const auto rounds = static_cast<std::int64_t>(1 + random() % 5);
    ScheduleChoice schedule{family, {}};
    if (chunks > 1) schedule.parameters = {{"chunks", static_cast<std::int64_t>(chunks)}};
    LayerGraph graph = chain(std::vector<double>(devices * chunks * layers, static_cast<double>(1 + random() % 9)));
    for (LayerEdge& edge : graph.edges) edge.bytes = Bytes(0);
    const Platform platform = flat_platform(devices, 1000.0);
    const std::int64_t microbatches = rounds * static_cast<std::int64_t>(devices);
    const PlanRequest request{graph,        platform, schedule,
                              microbatches, {},       parse_options(uniform(), {{"replicas", "1"}})};
    const Plan plan = plan_of(uniform().plan(request));
    REQUIRE(plan.stages.size() == devices * chunks);
    const Report report = evaluate_plan(graph, platform, plan);
    CHECK(plan.predicted.iteration_time->value() == doctest::Approx(report.iterations.back().value()).epsilon(1e-9));
  }
}

TEST_CASE("uniform: under interleaved-1f1b the claim counts transfers and updates, random chains, short and long") {
  for (unsigned seed = 1; seed <= testing::random_cases(200U); ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    const std::size_t devices = 2 + random() % 4;
    const std::size_t chunks = 2 + random() % 3;
    LayerGraph graph = chain(std::vector<double>(devices * chunks + random() % 8, 1.0));
    for (Layer& layer : graph.layers) {
      layer.forward = Seconds(0.1 * static_cast<double>(1 + random() % 9));
      layer.backward = Seconds(0.1 * static_cast<double>(1 + random() % 19));
      layer.parameters = Bytes(static_cast<std::int64_t>(random() % 1000));
    }
    for (LayerEdge& edge : graph.edges) edge.bytes = Bytes(static_cast<std::int64_t>(random() % 500));
    PlatformSpec spec = flat_platform(devices, 1000.0).spec;
    spec.device_kinds[DeviceKindId(0)].update_bandwidth = BytesPerSecond(2000.0);
    const Platform platform = build_platform(std::move(spec));
    const ScheduleChoice schedule{"interleaved-1f1b", {{"chunks", static_cast<std::int64_t>(chunks)}}};
    const std::int64_t fewest = testing::draws_all() ? 300 : 100;  // of a long run
    const std::int64_t groups = seed % 4 == 0 ? fewest + static_cast<std::int64_t>(random() % 200) : 1 + random() % 6;
    const PlanRequest request{graph,    platform,
                              schedule, groups * static_cast<std::int64_t>(devices),
                              {},       parse_options(uniform(), {{"replicas", "1"}})};
    const Plan plan = plan_of(uniform().plan(request));
    const double evaluated = evaluate_plan(graph, platform, plan).iterations.back().value();
    const double exact = groups < 100 ? 1e-9 : 0.02;
    CHECK(plan.predicted.iteration_time->value() == doctest::Approx(evaluated).epsilon(exact));
  }
}

TEST_CASE(
    "uniform: under every schedule with fixed orders the claim is the evaluation, on as many stages as it needs") {
  const std::vector<std::int64_t> runs =
      testing::draws_all() ? std::vector<std::int64_t>{8, 12, 4000} : std::vector<std::int64_t>{8, 12};
  for (const ScheduleFamily* family : all_families()) {
    if (family->orders == nullptr) continue;
    CAPTURE(family->name);
    for (const std::int64_t microbatches : runs) {
      LayerGraph graph = chain(std::vector<double>(10, 1.0));
      for (LayerEdge& edge : graph.edges) edge.bytes = Bytes(100);
      const Platform platform = flat_platform(4, 1000.0);
      const PlanRequest request{graph,        platform, {family->name, {}},
                                microbatches, {},       parse_options(uniform(), {{"replicas", "1"}})};
      const Plan plan = plan_of(uniform().plan(request));
      CHECK(plan.stages.size() == family->placement(4, schedule_parameters(plan.schedule)).size());
      const double evaluated = evaluate_plan(graph, platform, plan).iterations.back().value();
      CHECK(plan.predicted.iteration_time->value() ==
            doctest::Approx(evaluated).epsilon(microbatches < 100 ? 1e-9 : 1e-3));
    }
  }
}

TEST_CASE("uniform: recompute covers every layer, by layer or by stage") {
  const LayerGraph graph = chain({1, 1, 1, 1});
  const Plan by_layer =
      plan_of(run_planner(uniform(), graph, flat_platform(2), {{"replicas", "1"}, {"recompute", "layer"}}));
  CHECK(by_layer.stages[0].memory == std::vector<MemoryAction>{Recompute{{LayerId(0)}}, Recompute{{LayerId(1)}}});
  const Plan by_stage =
      plan_of(run_planner(uniform(), graph, flat_platform(2), {{"replicas", "1"}, {"recompute", "stage"}}));
  CHECK(by_stage.stages[0].memory == std::vector<MemoryAction>{Recompute{{LayerId(0), LayerId(1)}}});
  // Each stage: forward 2, again 2, backward 4; (8 + 2 - 1) x 8 s.
  CHECK(by_stage.predicted.iteration_time->value() == doctest::Approx(72.0).epsilon(1e-12));
}

TEST_CASE("uniform: more stages or replicas than there are devices or layers is refused") {
  const LayerGraph graph = chain({1, 1});
  CHECK_THROWS_AS((void)run_planner(uniform(), graph, flat_platform(2), {{"stages", "3"}}), InputError);
  CHECK_THROWS_AS((void)run_planner(uniform(), graph, flat_platform(4), {{"stages", "3"}}), InputError);
  CHECK_THROWS_AS((void)run_planner(uniform(), graph, flat_platform(2), {{"replicas", "3"}}), InputError);
}

TEST_CASE("uniform: times scaled by k scale the claim and leave the cuts") {
  const LayerGraph graph = chain({3, 1, 4, 1, 5, 9, 2, 6});
  const LayerGraph scaled = chain({12, 4, 16, 4, 20, 36, 8, 24});
  const Platform fast = flat_platform(3, 1e12);
  const Plan plan = plan_of(run_planner(uniform(), graph, fast));
  const Plan larger = plan_of(run_planner(uniform(), scaled, fast));
  CHECK(stage_names(graph, plan) == stage_names(scaled, larger));
  CHECK(larger.predicted.iteration_time->value() ==
        doctest::Approx(4 * plan.predicted.iteration_time->value()).epsilon(1e-9));
}

}  // namespace stagecraft::uniform_test
