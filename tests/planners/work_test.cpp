#include "planners/shared/costs/work.hpp"

#include "sim/base/error.hpp"

#include <doctest/doctest.h>

#include <string>

namespace stagecraft::work_test {

namespace {

std::string refusal(const Work& work, const WorkLimit& limit = {}) {
  try {
    require_affordable(work, limit);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("work: what stays within the limits is taken on") {
  CHECK(refusal({.what = "the table", .bytes = kMostTableBytes, .steps = kMostSteps, .remedy = "less"}).empty());
}

TEST_CASE("work: too large a table, and too many steps") {
  CHECK(refusal({.what = "the table", .bytes = 3e9, .remedy = "plan less"}) ==
        "the table would take 2.79 GiB of memory, more than 1 GiB (plan less)");
  CHECK(refusal({.what = "the table", .bytes = 1e300, .remedy = "plan less"}).find("of memory") != std::string::npos);
  CHECK(refusal({.what = "the loop", .steps = 1e12, .remedy = "plan less"}) ==
        "the loop would take 1000000000000 steps, more than 500000000000 (plan less)");
}

TEST_CASE("work: the option that raises a limit is named") {
  const WorkLimit limit{.steps = 7, .option = "max_work"};
  CHECK(refusal({.what = "the search", .steps = 7.6, .unit = "plans", .remedy = "merge layers"}, limit) ==
        "the search would take 8 plans, more than 7 (option max_work) (merge layers, or raise max_work)");
  CHECK(refusal({.what = "the search", .steps = 1e300, .unit = "plans", .remedy = "merge layers"}, limit)
            .starts_with("the search would take more than 1e15 plans, more than 7 (option"));
}

}  // namespace stagecraft::work_test
