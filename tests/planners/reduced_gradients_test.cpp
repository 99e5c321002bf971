// What planners search and claim where an all-reduce moves more bytes than the weights have.
#include "planners/registry.hpp"
#include "tests/planners/fixtures.hpp"
#include "tests/random_cases.hpp"

#include <doctest/doctest.h>

#include <random>
#include <variant>

namespace stagecraft::reduced_gradients_test {

using namespace stagecraft::testing;

namespace {

LayerGraph heavy_chain(std::mt19937& random) {
  LayerGraph graph = chain(std::vector<double>(4 + random() % 3, 1.0));
  for (Layer& layer : graph.layers) layer.parameters = Bytes(static_cast<std::int64_t>(20 * (1 + random() % 40)));
  return graph;
}

}  // namespace

// With the recipe each byte of weights has one of gradients and none of state, and an all-reduce moves two. So do
// weights of twice the size without gradients and state: they take the same memory, and the same time to update.
TEST_CASE("gradients: every planner makes the plan that weights of the size of the gradients would have") {
  for (unsigned seed = 1; seed <= (draws_all() ? 40U : 10U); ++seed) {
    const Platform platform = flat_platform(4, 100.0 * (1 + seed % 10));
    std::mt19937 random(seed);
    const LayerGraph graph = heavy_chain(random);
    LayerGraph doubled = graph;
    for (Layer& layer : doubled.layers) layer.parameters = layer.parameters * 2;
    Training mixed{.gradient_copies = 1, .optimizer_copies = 0};
    Training plain{.gradient_copies = 0, .optimizer_copies = 0};
    if (seed % 2 == 0) mixed.gradient_bucket = plain.gradient_bucket = Bytes(400);
    mixed.recipe = OptimizerRecipe::Mixed;
    for (const PlannerInfo* planner : all_planners()) {
      if (wants_judge(*planner, parse_options(*planner, {}))) continue;  // its plans are those of the others
      CAPTURE(seed);
      CAPTURE(planner->name);
      const PlanResult found = run_planner(*planner, graph, platform, {}, 8, mixed);
      const PlanResult expected = run_planner(*planner, doubled, platform, {}, 8, plain);
      REQUIRE(found.index() == expected.index());
      if (!std::holds_alternative<Planned>(found)) continue;
      const Plan& plan = std::get<Planned>(found).plan;
      const Plan& same = std::get<Planned>(expected).plan;
      CHECK(stage_names(graph, plan) == stage_names(graph, same));
      CHECK(plan.stages == same.stages);
      CHECK(plan.predicted.iteration_time == same.predicted.iteration_time);
      CHECK(plan.predicted.period == same.predicted.period);
    }
  }
}

}  // namespace stagecraft::reduced_gradients_test
