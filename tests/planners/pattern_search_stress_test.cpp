#include "tests/planners/pattern_cases.hpp"

#include <doctest/doctest.h>

using namespace stagecraft::testing;

TEST_CASE("madpipe patterns: 1F1B* is as fast as the integer program on 300 random contiguous cuts") {
  CHECK(compare_with_star(1, 300) > 200);
}
