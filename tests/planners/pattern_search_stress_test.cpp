#include "tests/planners/madpipe_optimum.hpp"
#include "tests/planners/pattern_cases.hpp"

#include <doctest/doctest.h>

using namespace stagecraft::testing;

TEST_CASE("madpipe patterns: 1F1B* is as fast as the integer program on 300 random contiguous cuts") {
  CHECK(compare_with_star(1, 300) > 200);
}

TEST_CASE("madpipe: against the optimum and contiguous on the chains of seeds 1 to 300, none left out") {
  const OptimumCounts counts = compare_with_optimum(1, 300);
  CHECK(counts.chains == 300);
  CHECK(counts.infeasible == 33);
  CHECK(counts.contiguous_optimal == 198);
  CHECK(counts.contiguous_infeasible == 2);
  // optimal, better, equal, worse, nothing, optimal with fallback
  CHECK(counts.optimistic == ModeCounts{233, 62, 187, 16, 2, 250});
  CHECK(counts.safe == ModeCounts{247, 62, 201, 4, 0, 251});
}
