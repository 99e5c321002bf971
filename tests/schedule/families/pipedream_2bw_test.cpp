#include "sim/analytic/evaluate_plan.hpp"
#include "tests/schedule/compiled.hpp"

#include <doctest/doctest.h>

#include <cstdint>

namespace stagecraft {
namespace {

using testing::chain;
using testing::pairwise;
using testing::straight;

Plan plan_2bw(std::size_t stages, std::int64_t rounds, const char* schedule = "pipedream-2bw") {
  Plan plan = straight(stages, 40, schedule);
  plan.rounds_per_update = rounds;
  return plan;
}

TEST_CASE("pipedream-2bw: two versions of the weights on every stage, and the order of pipedream") {
  const ScheduleProgram program = testing::compiled(plan_2bw(4, 4));
  CHECK(program.weight_versions == std::vector<std::int64_t>{2, 2, 2, 2});
  CHECK(program.in_flight == std::vector<std::int64_t>{4, 3, 2, 1});
  CHECK(program.orders({0, 8}) == testing::compiled(plan_2bw(4, 4, "pipedream")).orders({0, 8}));
}

TEST_CASE("pipedream-2bw: pipedream keeps no more versions with as many rounds") {
  for (std::size_t stages = 1; stages <= 8; ++stages) {
    for (std::int64_t rounds = 1; rounds <= 10; ++rounds) {
      CAPTURE(stages);
      CAPTURE(rounds);
      const bool suffices = rounds + 1 >= static_cast<std::int64_t>(stages);
      CHECK(testing::refusal_of(plan_2bw(stages, rounds)).empty() == suffices);
      const auto versions = testing::compiled(plan_2bw(stages, rounds, "pipedream")).weight_versions;
      CHECK((versions.front() <= 2) == suffices);
    }
  }
}

TEST_CASE("pipedream-2bw: a microbatch takes as long as the slowest stage") {
  const Report report = evaluate_plan(chain(4, 1, 2), pairwise(4), plan_2bw(4, 4));
  CHECK(report.period->value() == doctest::Approx(3.0).epsilon(1e-9));
}

TEST_CASE("pipedream-2bw: fewer rounds than are in flight are refused with what suffices") {
  CHECK(
      testing::refusal_of(plan_2bw(4, 2)) ==
      "pipedream-2bw keeps two versions of the weights, so the plan has to update after at least 3 rounds, but it does "
      "so after 2");
}

}  // namespace
}  // namespace stagecraft
