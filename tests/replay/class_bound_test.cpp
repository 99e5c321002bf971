// Replays of plans, in which transfers share links, against the bound of their class.

#include "sim/analytic/class_bound.hpp"

#include "sim/replay/replay_plan.hpp"
#include "tests/analytic/class_cases.hpp"
#include "tests/random_cases.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <string>

namespace stagecraft {
namespace {

TEST_CASE("class bound: no replay of a plan whose evaluation is below it is") {
  int replayed = 0;
  const auto cases = testing::random_cases<std::uint32_t>(400);
  for (std::uint32_t seed = 1; seed <= cases; ++seed) {
    CAPTURE(seed);
    testing::ClassCase made =
        testing::ClassCases(seed, {.branches = seed % 3 == 0, .cards = true, .least_microbatches = 4}).make();
    made.plan.schedule.name = seed % 2 == 0 ? "1f1b" : "gpipe";
    const auto bound = class_bound(made.graph, made.platform, made.plan.training, made.plan.microbatches,
                                   {.shares_links = true, .splits_backwards = false});
    REQUIRE(bound);
    testing::visit_plans_of_class(made, [&](const Plan& plan, Seconds time) {
      if (time >= bound->time) return bound->time;
      CAPTURE(testing::text_of(plan));
      CHECK(bound->time <= replay_plan(made.graph, made.platform, plan).report.iterations.back());
      ++replayed;
      return bound->time;
    });
  }
  CHECK(replayed > 5);
}

}  // namespace
}  // namespace stagecraft
