// The search for the least memory that every planner is asked for, on planners that say yes from some size on.
#include "planners/shared/savings/least_memory.hpp"

#include "tests/planners/fixtures.hpp"

#include <doctest/doctest.h>

#include <functional>
#include <optional>
#include <variant>

namespace stagecraft::least_memory_test {

using namespace stagecraft::testing;

namespace {

/// A planner that finds a plan from `least` on, starts the search at `start` and counts how often it is asked.
PlannerInfo threshold_planner(Bytes least, std::optional<MemorySearch> search, int& asked) {
  PlannerInfo planner;
  planner.name = "threshold";
  planner.plan = [least, search, &asked](const PlanRequest& request) -> PlanResult {
    ++asked;
    if (request.platform.kind(DeviceId(0)).memory >= least) return Planned{};
    return Infeasible{.reason = "too little", .search = search};
  };
  return planner;
}

std::optional<Bytes> least_found(const PlannerInfo& planner, Bytes memory = Bytes(1000)) {
  const PlanResult result = run_planner(planner, chain({1}), flat_platform(1, 100.0, memory));
  return std::get<Infeasible>(result).smallest_memory;
}

}  // namespace

TEST_CASE("least memory: a bound that is exact costs two more calls, one with it and one with a byte less") {
  int asked = 0;
  CHECK(least_found(threshold_planner(Bytes(5000), MemorySearch{Bytes(5000)}, asked)) == Bytes(5000));
  CHECK(asked == 3);
}

TEST_CASE("least memory: from a bound above or below, by doubling and bisection") {
  // From 1000 to 8000 bytes the steps end at a 4096th of the difference, which is one byte.
  for (const std::int64_t start : {8000, 7000, 1, 2000}) {
    CAPTURE(start);
    int asked = 0;
    CHECK(least_found(threshold_planner(Bytes(5003), MemorySearch{Bytes(start)}, asked)) == Bytes(5003));
  }
}

TEST_CASE("least memory: none is named where none helps, and none is searched for where the planner offers no search") {
  int asked = 0;
  CHECK_FALSE(least_found(threshold_planner(Bytes(std::int64_t{1} << 60), MemorySearch{Bytes(1000)}, asked)));
  CHECK(asked == 22);  // once, and with 1000 · 2^0 to 2^20 bytes
  asked = 0;
  CHECK_FALSE(least_found(threshold_planner(Bytes(5000), std::nullopt, asked)));
  CHECK(asked == 1);
}

TEST_CASE("least memory: a quicker yes or no takes the place of the planner's") {
  int asked = 0;
  const auto quick = [](const PlanRequest& request) {
    return request.platform.kind(DeviceId(0)).memory >= Bytes(6000);
  };
  CHECK(least_found(threshold_planner(Bytes(5000), MemorySearch{Bytes(6000), quick}, asked)) == Bytes(6000));
  CHECK(asked == 1);
}

}  // namespace stagecraft::least_memory_test
