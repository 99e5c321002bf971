#pragma once

#include "sim/analytic/evaluate_plan.hpp"
#include "tests/schedule/random_plans.hpp"

#include <doctest/doctest.h>

namespace stagecraft::testing {

/// Checks that windows of any size give the same run.
inline void check_windows(const RandomCase& random) {
  LowerOptions options;
  options.iterations = 2;
  options.window_operations = 1'000'000;
  Timeline whole;
  const Report expected = evaluate_plan(random.graph, random.platform, random.plan, options, {}, collect_into(whole));
  for (const std::size_t size : {1U, 7U, 64U}) {
    options.window_operations = size;
    Timeline timeline;
    CHECK(evaluate_plan(random.graph, random.platform, random.plan, options, {}, collect_into(timeline)) == expected);
    CHECK(timeline == whole);
  }
}

}  // namespace stagecraft::testing
