// What `director` answers, beside what all other planners do, as a user would run their plans.
#include "experiments/run/planning.hpp"
#include "experiments/run/simulation.hpp"
#include "planners/registry.hpp"
#include "sim/base/error.hpp"
#include "sim/schedule/schedule_family.hpp"
#include "tests/model/topologies.hpp"
#include "tests/planners/fixtures.hpp"
#include "tests/random_cases.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <optional>
#include <random>
#include <string>

namespace stagecraft::director_run_test {
namespace {

/// A chain of six layers on nodes of two or three devices, whose cards are slow and shared.
Inputs random_cluster(std::uint32_t seed) {
  std::mt19937 random(seed);
  const auto number = [&](std::uint32_t least, std::uint32_t most) { return least + random() % (most - least + 1); };
  std::vector<double> times;
  for (int i = 0; i < 6; ++i) times.push_back(number(1, 9));
  LayerGraph graph = testing::chain(times);
  graph.microbatch_size = 12;
  for (Layer& layer : graph.layers) {
    layer.parameters = Bytes(number(1, 40));
    layer.output = Bytes(number(1, 60));
    layer.stash = Bytes(number(1, 60));
    layer.checkpoint = std::min(layer.output, layer.stash);
  }
  for (LayerEdge& edge : graph.edges) edge.bytes = graph.layers[edge.from].output;
  PlatformSpec spec;
  spec.name = "cluster";
  const Bytes memory(seed % 3 == 0 ? 900 : 10'000);
  spec.device_kinds.push_back({"A", memory, 1.0, Bytes(0), std::nullopt});
  spec.form = test::nodes_of(2, number(2, 3), Interconnect{SwitchedNode{}, test::link_of(60)}, SwitchedNetwork{},
                             NicSpec{test::link_of(number(3, 20)), false});
  return {{{graph}}, build_platform(spec), "", ""};
}

void say_none(const std::string& /*text*/) {}

PlanningChoices with_options(const GivenOptions& options = {}) {
  PlanningChoices choices;
  choices.microbatches = 6;
  choices.memory = MemoryPolicy::Cheapest;
  choices.options = options;
  return choices;
}

/// The replayed time of an iteration of the planner's plan; none if it has none, or one that does not fit.
std::optional<Seconds> replayed(const PlannerInfo& planner, const Inputs& inputs, PlanningChoices choices) {
  try {
    if (!planner.default_schedule.empty() && !require_family(planner.default_schedule).synchronous) {
      choices.schedule = ScheduleChoice{"1f1b", {}};
    }
    if (planner.name == "director") choices.options = {{"evaluations", "100"}, {"replays", "20"}};
    const Planning planning = make_plan(planner, inputs, choices, say_none);
    if (planning.planned() == nullptr) return std::nullopt;
    const Simulation run = simulate_program(planning.graph, inputs.platform, *planning.program, {}, Settings());
    if (run.report.out_of_memory()) return std::nullopt;
    const Seconds time = run.report.iterations.back();
    if (planner.name == "director") CHECK(planning.planned()->plan.predicted.iteration_time == time);
    return time;
  } catch (const InputError&) {
    return std::nullopt;
  }
}

}  // namespace

TEST_CASE("director: no planner's plan replays faster, and the claim is the replayed time to the last bit") {
  std::uint32_t slower = 0;
  const std::uint32_t cases = testing::draws_all() ? 200 : 8;
  for (std::uint32_t seed = 1; seed <= cases; ++seed) {
    CAPTURE(seed);
    const Inputs inputs = random_cluster(seed);
    const PlanningChoices choices = with_options();
    const std::optional<Seconds> best = replayed(find_planner("director"), inputs, choices);
    for (const PlannerInfo* planner : all_planners()) {
      if (planner->only_by_name) continue;
      CAPTURE(planner->name);
      const std::optional<Seconds> time = replayed(*planner, inputs, choices);
      if (!time) continue;
      REQUIRE(best.has_value());
      CHECK(*best <= *time);
      if (*time > *best) ++slower;
    }
  }
  CHECK(slower > cases / 2);
}

TEST_CASE("director: S is at most the replayed time of every seed that was replayed") {
  for (std::uint32_t seed = 1; seed <= testing::random_cases(200U); ++seed) {
    CAPTURE(seed);
    const Inputs inputs = random_cluster(seed);
    const Planning planning =
        make_plan(find_planner("director"), inputs, with_options({{"evaluations", "0"}}), say_none);
    if (planning.planned() == nullptr) continue;
    const auto& seeds = std::get<Detail::List>(planning.planned()->details.back().second.value);
    for (const Detail& each : seeds) {
      const auto& figures = std::get<Detail::Record>(each.value);
      const auto* evaluated = std::get_if<double>(&figures[1].second.value);
      const auto* found = std::get_if<double>(&figures[2].second.value);
      if (evaluated != nullptr && found != nullptr) CHECK(*evaluated <= *found * (1.0 + 1e-9));
    }
  }
}

TEST_CASE("director: with --despite-memory it replays on the devices as they would have to be") {
  Inputs inputs = random_cluster(3);
  inputs.platform.spec.device_kinds[DeviceKindId(0)].memory = Bytes(60);
  inputs.platform = build_platform(inputs.platform.spec);
  PlanningChoices choices = with_options({{"evaluations", "0"}});
  choices.memory = MemoryPolicy::Keep;
  const PlannerInfo& director = find_planner("director");
  const Planning planning = make_plan(director, inputs, choices, say_none);
  REQUIRE(planning.planned() == nullptr);
  const auto despite = plan_despite_memory(director, inputs, choices, std::get<Infeasible>(planning.result), say_none);
  CHECK(despite.planning.planned() != nullptr);
}

}  // namespace stagecraft::director_run_test
