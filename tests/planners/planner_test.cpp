#include "planners/registry.hpp"
#include "sim/base/error.hpp"

#include <doctest/doctest.h>

namespace stagecraft::planner_test {

TEST_CASE("registry: every planner is found by its name, and its option table is consistent") {
  CHECK_FALSE(all_planners().empty());
  for (const PlannerInfo* planner : all_planners()) {
    CAPTURE(planner->name);
    CHECK(&find_planner(planner->name) == planner);
    CHECK_FALSE(planner->summary.empty());
    CHECK_FALSE(planner->source.empty());
    GivenOptions defaults;
    for (const OptionInfo& option : planner->options) {
      CHECK_FALSE(option.description.empty());
      defaults.emplace_back(option.name, to_string(option.default_value));
    }
    CHECK(parse_options(*planner, defaults).values() == parse_options(*planner, {}).values());
  }
}

TEST_CASE("registry: an unknown planner is refused with the nearest name") {
  CHECK_THROWS_WITH_AS((void)find_planner("unifrom"), doctest::Contains("uniform"), InputError);
}

}  // namespace stagecraft::planner_test
