#include "planners/shared/savings/side_by_side.hpp"

#include "planners/registry.hpp"
#include "planners/shared/costs/cost_model.hpp"
#include "planners/shared/turns/level_shares.hpp"
#include "planners/shared/turns/turn_order.hpp"
#include "sim/analytic/evaluate_plan.hpp"
#include "sim/base/error.hpp"
#include "sim/model/platform_part.hpp"
#include "sim/model/replicas.hpp"
#include "tests/model/topologies.hpp"
#include "tests/planners/fixtures.hpp"
#include "tests/random_cases.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <string>

namespace stagecraft::side_by_side_test {

using namespace stagecraft::testing;

namespace {

const std::vector<std::string> kPlanners = {"spp", "dapple", "pipedream-sync"};

LayerGraph random_chain(std::mt19937& random, std::int64_t samples, std::int64_t most_parameters) {
  std::vector<double> times(3 + random() % 6);
  for (double& time : times) time = static_cast<double>(1 + random() % 9);
  LayerGraph graph = chain(times);
  graph.microbatch_size = samples;
  for (Layer& layer : graph.layers) {
    layer.parameters = Bytes(static_cast<std::int64_t>(random() % static_cast<std::uint32_t>(most_parameters)));
  }
  return graph;
}

PlanRequest request_of(const PlannerInfo& planner, const LayerGraph& graph, const Platform& platform,
                       const std::string& pipelines, std::int64_t microbatches, MemoryPolicy memory) {
  return {.graph = graph,
          .platform = platform,
          .schedule = {planner.default_schedule, {}},
          .microbatches = microbatches,
          .training = {},
          .options = parse_options(planner, {{"pipelines", pipelines}}),
          .memory = memory};
}

double time_of(const LayerGraph& graph, const Platform& platform, const Plan& plan) {
  return evaluate_plan(graph, platform, plan).iterations.back().value();
}

std::int64_t pipelines_in(const Planned& planned) { return std::get<std::int64_t>(detail(planned, "pipelines").value); }

Platform nodes(std::uint32_t count, std::uint32_t devices, Bytes memory = Bytes(1'000'000)) {
  Platform platform = test::built(test::nodes_of(count, devices, Interconnect{SwitchedNode{}, test::link_of(1000.0)},
                                                 SwitchedNetwork{}, NicSpec{test::link_of(100.0), false}));
  for (Device& device : platform.devices) device.memory = memory;
  return platform;
}

}  // namespace

TEST_CASE("side by side: the answer takes no longer than any number of pipelines asked for by hand") {
  std::mt19937 random(7);
  int several = 0;
  int saved = 0;
  const int rounds = draws_all() ? 80 : 4;
  for (int round = 0; round < rounds; ++round) {
    CAPTURE(round);
    LayerGraph graph = random_chain(random, 1 + random() % 3, 900);
    for (Layer& layer : graph.layers) layer.stash = Bytes(400);  // of which recomputation keeps 10
    const Platform platform = nodes(2, 4, Bytes(round % 2 == 0 ? 1'000'000 : 6'000));
    for (const std::string& name : kPlanners) {
      CAPTURE(name);
      const PlannerInfo& planner = find_planner(name);
      const auto ask = [&](const std::string& pipelines) {
        return plan_explained(planner, request_of(planner, graph, platform, pipelines, 16, MemoryPolicy::Recompute));
      };
      const PlanResult answer = ask("0");
      double least = kNever.value();
      for (const std::int64_t count : {1, 2, 4, 8}) {
        try {
          const PlanResult result = ask(std::to_string(count));
          const auto* planned = std::get_if<Planned>(&result);
          if (planned == nullptr) continue;
          CHECK(pipelines_in(*planned) == count);
          least = std::min(least, time_of(graph, platform, planned->plan));
        } catch (const InputError&) {
          continue;  // the schedule refuses it
        }
      }
      const auto* best = std::get_if<Planned>(&answer);
      REQUIRE((best != nullptr) == (least < kNever.value()));
      if (best == nullptr) continue;
      CHECK(time_of(graph, platform, best->plan) == doctest::Approx(least).epsilon(1e-9));
      several += pipelines_in(*best) > 1 ? 1 : 0;
      saved += layers_with<Recompute>(best->plan) > 0 ? 1 : 0;
    }
  }
  CHECK(several > rounds / 2);
  CHECK(saved > rounds / 8);
}

TEST_CASE("side by side: on unequal devices the number of pipelines is the best for the shares that they get") {
  std::mt19937 random(9);
  int levelled = 0;
  const int rounds = random_cases(60);
  for (int round = 0; round < rounds; ++round) {
    CAPTURE(round);
    const LayerGraph graph = random_chain(random, 1, 900);
    Platform platform = nodes(2, 2);
    for (Device& device : platform.devices) device.slowdown = 1.0 + static_cast<double>(random() % 3);
    for (const std::string& name : {"dapple", "pipedream-sync"}) {
      CAPTURE(name);
      const PlannerInfo& planner = find_planner(name);
      const auto time = [&](const std::string& pipelines) {
        const PlanRequest request = request_of(planner, graph, platform, pipelines, 16, MemoryPolicy::Keep);
        PlanResult result = plan_explained(planner, request);
        auto* planned = std::get_if<Planned>(&result);
        if (planned == nullptr) return kNever.value();
        const Planned answer = with_level_shares(request, with_ordered_turns(request, std::move(*planned)));
        levelled += has_unequal_shares(answer.plan) ? 1 : 0;
        return time_of(graph, platform, answer.plan);
      };
      const double free = time("0");
      for (const std::string count : {"1", "2", "4"}) CHECK(free <= time(count) * (1.0 + 1e-9));
    }
  }
  CHECK(levelled > rounds);
}

TEST_CASE("side by side: pipelines without parameters run as one of them with its part of the microbatches") {
  std::mt19937 random(8);
  int divided = 0;
  for (int round = 0; round < 60; ++round) {
    CAPTURE(round);
    LayerGraph graph = random_chain(random, 1 + random() % 4, 1);
    const Platform platform = flat_platform(8, 30.0);
    const std::int64_t count = std::int64_t{1} << (1 + random() % 3);
    const std::int64_t each = round % 10 == 0 ? 700 : 1 + static_cast<std::int64_t>(random() % 9);
    for (const std::string& name : kPlanners) {
      CAPTURE(name);
      const PlannerInfo& planner = find_planner(name);
      const auto found = [&](const Platform& devices, std::int64_t pipelines, std::int64_t microbatches) {
        const PlanRequest request =
            request_of(planner, graph, devices, std::to_string(pipelines), microbatches, MemoryPolicy::Keep);
        PlanResult result = plan_explained(planner, request);
        return std::holds_alternative<Planned>(result) ? std::optional(std::get<Planned>(std::move(result)))
                                                       : std::nullopt;
      };
      const Platform part = first_devices(platform, static_cast<std::size_t>(8 / count));
      const std::optional<Planned> one = found(part, 1, each);
      const std::optional<Planned> all = found(platform, count, each * count);
      REQUIRE(one.has_value() == all.has_value());
      if (!one) continue;
      const double time = time_of(graph, part, one->plan);
      CHECK(time_of(graph, platform, all->plan) == doctest::Approx(time).epsilon(1e-9));
      CHECK(all->plan.predicted.iteration_time->value() == doctest::Approx(time).epsilon(1e-9));
      CHECK(Replicas(all->plan).devices().size() ==
            Replicas(one->plan).devices().size() * static_cast<std::size_t>(count));
      divided += Replicas(all->plan).pipelines() > 1 && name == "dapple" ? 1 : 0;
    }
  }
  CHECK(divided > 5);
}

TEST_CASE("side by side: a uniform chain of single samples on eight devices has several pipelines") {
  LayerGraph graph = chain({1, 1, 1, 1, 1, 1, 1, 1});
  graph.microbatch_size = 1;
  for (Layer& layer : graph.layers) layer.parameters = Bytes(1);
  for (const std::string& name : kPlanners) {
    CAPTURE(name);
    const PlanResult result = run_planner(find_planner(name), graph, flat_platform(8));
    REQUIRE(std::holds_alternative<Planned>(result));
    CHECK(pipelines_in(std::get<Planned>(result)) > 1);
  }
}

TEST_CASE("side by side: the plan is made for the slowest and smallest device in each place") {
  // Of two pairs of devices the second one's first device is three times as slow. Six equal layers, of which the first
  // device of a pair has one or two; alone on the first pair it would have three.
  const LayerGraph graph = chain({1, 1, 1, 1, 1, 1});
  Platform platform = flat_platform(4, 1e6);
  platform.devices[DeviceId(2)].slowdown = 3.0;
  const PlannerInfo& dapple = find_planner("dapple");
  LayerGraph single = graph;
  single.microbatch_size = 1;
  const PlanResult result = run_planner(dapple, single, platform, {{"pipelines", "2"}}, 64);
  REQUIRE(std::holds_alternative<Planned>(result));
  const Plan& plan = std::get<Planned>(result).plan;
  REQUIRE(plan.stages.size() == 2);
  CHECK(plan.stages[0].replicas == std::vector<Group>{DeviceId(0), DeviceId(2)});
  CHECK(plan.stages[0].layers.size() < 3);
  // A device in the second pair is smaller than what two stages need there: nothing fits, though all fits on the first.
  Platform small = flat_platform(4, 1e6);
  small.devices[DeviceId(3)].memory = Bytes(300);
  CHECK(std::holds_alternative<Infeasible>(run_planner(dapple, single, small, {{"pipelines", "2"}}, 64)));
}

TEST_CASE("side by side: parts are whole nodes or lie in one, and have equal numbers of microbatches") {
  const LayerGraph graph = chain({1, 1});
  const auto counts = [&](const Platform& platform, std::int64_t microbatches) {
    return pipeline_counts(request_of(find_planner("spp"), graph, platform, "0", microbatches, MemoryPolicy::Keep));
  };
  CHECK(counts(nodes(3, 4), 24) == std::vector<std::int64_t>{1, 3, 6, 12});  // of 2 and 4, 2 would divide a node
  CHECK(counts(nodes(3, 4), 9) == std::vector<std::int64_t>{1, 3});
  CHECK(counts(flat_platform(6), 12) == std::vector<std::int64_t>{1, 2, 3, 6});
  CHECK_THROWS_AS((void)run_planner(find_planner("spp"), graph, nodes(3, 4), {{"pipelines", "2"}}, 24), InputError);
}

}  // namespace stagecraft::side_by_side_test
