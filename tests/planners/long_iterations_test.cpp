// Plans that swap, of more microbatches than are evaluated.
#include "planners/registry.hpp"
#include "planners/shared/costs/cost_model.hpp"
#include "planners/shared/savings/memory_policy.hpp"
#include "tests/planners/saving_fixtures.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <variant>

namespace stagecraft::long_iterations_test {

using namespace stagecraft::testing;

// 1024 microbatches, which these devices do not take, are no part of the iteration that can be evaluated.
TEST_CASE(
    "memory policy: of long iterations on shared devices the claim is the evaluation, and as good as of short ones") {
  const PlannerInfo& uniform = find_planner("uniform");
  for (const unsigned seed : {17U, 25U}) {  // whose plans swap
    CAPTURE(seed);
    std::mt19937 random(seed);
    const LayerGraph graph = stashing_chain(random, 8 + random() % 6);
    const Platform platform = swapping_platform(6, Bytes(4200 + 100 * (seed % 20)), 400.0);
    const auto plan_of = [&](std::int64_t microbatches) -> std::optional<Plan> {
      PlanRequest request =
          request_for(uniform, graph, platform, "interleaved-1f1b", microbatches, {{"stages", "4"}, {"replicas", "3"}});
      request.memory = MemoryPolicy::Swap;
      const PlanResult result = plan_within_memory(uniform, request);
      const auto* planned = std::get_if<Planned>(&result);
      return planned != nullptr ? std::optional(planned->plan) : std::nullopt;
    };
    const std::optional<Plan> small = plan_of(1020);
    const std::optional<Plan> large = plan_of(3060);
    REQUIRE(small);
    REQUIRE(large);
    CHECK(count_swaps(*large) > 0);
    CHECK(claimed_time(*large) <= claimed_time(*small) * 3.01);
    CHECK(claimed_time(*large).value() == doctest::Approx(iteration(graph, platform, *large).value()).epsilon(1e-3));
  }
}

}  // namespace stagecraft::long_iterations_test
