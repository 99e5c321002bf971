#include "planners/registry.hpp"
#include "planners/shared/costs/cost_model.hpp"
#include "planners/shared/savings/memory_policy.hpp"
#include "tests/planners/saving_fixtures.hpp"
#include "tests/random_cases.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <string>
#include <variant>

namespace stagecraft::variants_test {

using namespace stagecraft::testing;

namespace {

/// What plans of one planner are compared by.
Seconds compared_time(const LayerGraph& graph, const Platform& platform, const PlanResult& result) {
  const auto* planned = std::get_if<Planned>(&result);
  const bool is_evaluated = planned != nullptr && planned->plan.schedule.name == "1f1b";
  return is_evaluated ? iteration(graph, platform, planned->plan) : claimed_time(result);
}

}  // namespace

TEST_CASE("variants: a planner that is free to choose stages and replicas is as fast as the best of all shapes") {
  std::mt19937_64 random(8);
  int plans = 0;
  int refusals = 0;
  int replicated = 0;
  for (int i = 0; i < random_cases(400); ++i) {
    CAPTURE(i);
    const LayerGraph graph = varied_chain(static_cast<unsigned>(i), 4 + random() % 4);
    const Platform platform = flat_platform(4, 1e6, Bytes(static_cast<std::int64_t>(100 + random() % 600)));
    for (const std::string name : {"vpipe", "dawnpiper", "gpipe"}) {
      CAPTURE(name);
      const PlannerInfo& planner = find_planner(name);
      const std::string schedule = name == "gpipe" ? "gpipe" : i % 2 == 0 ? "1f1b" : "pipedream";
      GivenOptions options;
      if (name == "vpipe") options.emplace_back("granularity", "layers");
      Seconds best = kNever;
      for (std::size_t stages = 1; stages <= 4; ++stages) {
        GivenOptions shape = options;
        shape.emplace_back("stages", std::to_string(stages));
        shape.emplace_back("replicas", std::to_string(4 / stages));
        const PlanResult result =
            plan_within_memory(planner, request_for(planner, graph, platform, schedule, 8, shape));
        best = std::min(best, compared_time(graph, platform, result));
      }
      const PlanResult result =
          plan_within_memory(planner, request_for(planner, graph, platform, schedule, 8, options));
      CHECK(compared_time(graph, platform, result) <= best);
      const auto* planned = std::get_if<Planned>(&result);
      (planned == nullptr ? refusals : plans)++;
      if (planned != nullptr && planned->plan.stages.front().replicas.size() > 1) ++replicated;
    }
  }
  CHECK(plans > 20);
  CHECK(refusals > 5);
  CHECK(replicated > 10);
}

}  // namespace stagecraft::variants_test
