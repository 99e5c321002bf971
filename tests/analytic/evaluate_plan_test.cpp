#include "sim/analytic/evaluate_plan.hpp"

#include "sim/schedule/schedule_family.hpp"
#include "tests/schedule/random_plans.hpp"

#include <doctest/doctest.h>

using namespace stagecraft;

TEST_CASE("evaluate plan: a compiled program has the plan's figures, and its iteration the plan's time, 200 seeds") {
  int synchronous = 0;
  for (std::uint32_t seed = 1; seed <= 200; ++seed) {
    CAPTURE(seed);
    const testing::RandomCase random = testing::random_case(seed);
    const ScheduleProgram program = require_schedule(random.graph, random.platform, random.plan);
    const Report report = evaluate_plan(random.graph, random.platform, random.plan);
    CHECK(evaluate_program(random.graph, random.platform, program).figures() == report.figures());
    if (!program.synchronous) continue;
    ++synchronous;
    CHECK(evaluate_iteration(random.graph, random.platform, program) == report.iterations.back());
  }
  CHECK(synchronous > 50);
}
