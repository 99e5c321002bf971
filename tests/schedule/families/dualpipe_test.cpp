#include "sim/analytic/evaluate_plan.hpp"
#include "tests/schedule/compiled.hpp"
#include "tests/schedule/fixed_plans.hpp"
#include "tests/schedule/orders_text.hpp"

#include <doctest/doctest.h>

namespace stagecraft {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace): the builders of this room

// t = 3 is a stage's work, with f = b = w = 1; a pair takes 3.
TEST_CASE("dualpipe: equal times take m t + (p / 2 - 1) (F&B + B - 3 w)") {
  for (const std::size_t p : {2U, 4U, 6U, 8U}) {
    for (const std::size_t m : {2 * p, 2 * p + 2}) {
      CAPTURE(p);
      CAPTURE(m);
      const Plan plan = fixed_plan({"dualpipe", {}}, p, static_cast<std::int64_t>(m));
      const Report report = evaluate_plan(chain(p, 1, 2), pairwise(p), plan);
      CHECK(report.iterations.back().value() ==
            doctest::Approx(3.0 * static_cast<double>(m) + 2.0 * static_cast<double>(p / 2 - 1)).epsilon(1e-9));
      for (const auto& device : report.devices) CHECK(device.in_flight_peak == static_cast<std::int64_t>(p + 1));
    }
  }
}

TEST_CASE("dualpipe: every device keeps the weights of two stages, which both directions exchange") {
  const Plan plan = fixed_plan({"dualpipe", {}}, 4, 8);
  const LayerGraph graph = chain(4, 1, 2, 0, 1000);
  CHECK(Replicas(plan).rings().size() == 4);
  const Report report = evaluate_plan(graph, pairwise(4), plan);
  const Report one = evaluate_plan(graph, pairwise(4), straight(4, 8, "1f1b"));
  for (std::size_t d = 0; d < 4; ++d) {
    CHECK(report.devices[d].memory.breakdown[static_cast<std::size_t>(MemoryCategory::Weights)] ==
          one.devices[d].memory.breakdown[static_cast<std::size_t>(MemoryCategory::Weights)] * 2);
  }
}

TEST_CASE("dualpipe: an odd number of devices, odd numbers and few microbatches, and unequal pipelines are refused") {
  CHECK(refusal_of(fixed_plan({"dualpipe", {}}, 3, 8)) ==
        "dualpipe needs an even number of devices, but the plan has 3");
  CHECK(refusal_of(fixed_plan({"dualpipe", {}}, 4, 6)) ==
        "dualpipe on 4 devices needs an even number of at least 8 microbatches, but the plan has 6");
  CHECK(refusal_of(fixed_plan({"dualpipe", {}}, 4, 9)) ==
        "dualpipe on 4 devices needs an even number of at least 8 microbatches, but the plan has 9");
  Plan plan = fixed_plan({"dualpipe", {}}, 4, 8);
  plan.pipeline_shares = {1, 3};
  CHECK(refusal_of(plan) ==
        "dualpipe gives its pipelines microbatches in turn, equally many, but not those of the plan");
  plan.pipeline_shares.clear();
  plan.stages[4].pipeline = 0;
  CHECK(refusal_of(plan).starts_with("dualpipe has stage 4 in pipeline 1, but the plan has it in pipeline 0"));
}

}  // namespace
}  // namespace stagecraft
