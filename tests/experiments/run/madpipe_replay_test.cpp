// The claims of the planner `madpipe`, held against the replay where its model is the truth.
#include "planners/registry.hpp"
#include "sim/analytic/evaluate_plan.hpp"
#include "sim/model/check_plan.hpp"
#include "sim/replay/replay_plan.hpp"
#include "tests/planners/pattern_cases.hpp"

#include <doctest/doctest.h>

#include <set>
#include <string>

namespace stagecraft::madpipe_replay_test {

using namespace stagecraft::testing;

namespace {

/// Every pair has a half-duplex link of its own that carries one transfer at a time.
Platform exclusive_platform(const MadPipeInstance& instance) {
  PlatformSpec spec = instance.platform().spec;
  LinkSpec& link = *std::get<ExplicitForm>(spec.form).default_link;
  link.duplex = Duplex::Half;
  link.sharing = Sharing::Exclusive;
  return build_platform(spec);
}

void check_run(const Plan& plan, const Report& report) {
  REQUIRE(report.period.has_value());
  CHECK(report.period->value() == doctest::Approx(plan.predicted.period->value()).epsilon(1e-9));
  CHECK(report.figures().peak_memory == plan.predicted.peak_memory);
  CHECK_FALSE(report.out_of_memory());
}

bool shares_a_device(const Plan& plan) {
  std::set<std::size_t> devices;
  for (const Stage& stage : plan.stages) devices.insert(stage.replicas.front().lead().value());
  return devices.size() < plan.stages.size();
}

}  // namespace

TEST_CASE("madpipe: on half-duplex exclusive links the replay confirms period and peaks") {
  int shared = 0;
  for (unsigned seed = 1; seed <= 60; ++seed) {
    CAPTURE(seed);
    const MadPipeInstance instance = random_instance(seed, 3);
    const LayerGraph graph = instance.graph();
    const Platform platform = exclusive_platform(instance);
    const std::string fallback = seed % 2 == 0 ? "true" : "false";
    const PlanResult result = run_planner(find_planner("madpipe"), graph, platform,
                                          {{"states", "exact"}, {"fallback", fallback}}, 60, {1, 0, 2});
    if (!std::holds_alternative<Planned>(result)) continue;
    const Plan& plan = std::get<Planned>(result).plan;
    CHECK(check_plan(graph, platform, plan).empty());
    check_run(plan, evaluate_plan(graph, platform, plan));
    check_run(plan, replay_plan(graph, platform, plan).report);
    if (shares_a_device(plan)) ++shared;
  }
  CHECK(shared > 15);
}

}  // namespace stagecraft::madpipe_replay_test
