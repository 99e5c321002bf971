// The claims of the planner `contiguous`, held against the replay where its model is the truth.
#include "planners/registry.hpp"
#include "sim/analytic/evaluate_plan.hpp"
#include "sim/model/check_plan.hpp"
#include "sim/replay/replay_plan.hpp"
#include "tests/planners/memory_chains.hpp"

#include <doctest/doctest.h>

using namespace stagecraft;
using namespace stagecraft::testing;

namespace {

/// Every pair has a half-duplex link of its own that carries one transfer at a time.
void make_links_exclusive(MemoryProblem& problem) {
  LinkSpec& link = *std::get<ExplicitForm>(problem.platform.spec.form).default_link;
  link.duplex = Duplex::Half;
  link.sharing = Sharing::Exclusive;
  problem.platform = build_platform(problem.platform.spec);
}

void check_run(const Plan& plan, const Report& report) {
  REQUIRE(report.period.has_value());
  CHECK(report.period->value() == doctest::Approx(plan.predicted.period->value()).epsilon(1e-9));
  CHECK(report.figures().peak_memory == plan.predicted.peak_memory);
  CHECK_FALSE(report.out_of_memory());
}

}  // namespace

TEST_CASE("contiguous: on half-duplex exclusive links the replay confirms period and peaks") {
  int replays = 0;
  for (unsigned seed = 1; seed <= 60; ++seed) {
    CAPTURE(seed);
    MemoryProblem problem = random_problem(seed);
    make_links_exclusive(problem);
    if (seed % 4 == 0) problem.platform.spec.device_kinds[DeviceKindId(0)].update_bandwidth = BytesPerSecond(5);
    const PlanResult result = find_planner("contiguous").plan(problem.request());
    if (!std::holds_alternative<Planned>(result)) continue;
    const Plan& plan = std::get<Planned>(result).plan;
    if (*plan.predicted.period < Seconds(0.1)) continue;  // nothing takes time
    CHECK(check_plan(problem.graph, problem.platform, plan).empty());
    check_run(plan, evaluate_plan(problem.graph, problem.platform, plan));
    const ReplayOutcome outcome = replay_plan(problem.graph, problem.platform, plan);
    check_run(plan, outcome.report);
    ++replays;
  }
  CHECK(replays > 30);
}
