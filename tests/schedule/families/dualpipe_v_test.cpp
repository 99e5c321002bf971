#include "sim/analytic/evaluate_plan.hpp"
#include "tests/schedule/compiled.hpp"
#include "tests/schedule/fixed_plans.hpp"
#include "tests/schedule/orders_text.hpp"

#include <doctest/doctest.h>

namespace stagecraft {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace): the builders of this room

TEST_CASE("dualpipe-v: pairs of a forward and a backward are one operation") {
  const Schedule schedule = compiled(fixed_plan({"dualpipe-v", {}}, 1, 2)).orders({0, 2});
  CHECK(order_text(schedule.devices[0]) == "F0.0 F1.0 F0.1 B1.0 F1.1 +B0.0 B1.1 I0.1 W0.1");
}

// t = 3 is a stage's work, with f = b = w = 1; a pair takes 3.
TEST_CASE("dualpipe-v: equal times take 2 m t + (p - 1) (F&B + B - 3 w)") {
  for (const std::size_t p : {1U, 2U, 3U, 5U}) {
    for (const std::size_t m : {2 * p, 2 * p + 3}) {
      CAPTURE(p);
      CAPTURE(m);
      const Plan plan = fixed_plan({"dualpipe-v", {}}, p, static_cast<std::int64_t>(m));
      const Report report = evaluate_plan(chain(2 * p, 1, 2), pairwise(p), plan);
      CHECK(report.iterations.back().value() ==
            doctest::Approx(6.0 * static_cast<double>(m) + 2.0 * static_cast<double>(p - 1)).epsilon(1e-9));
      for (const auto& device : report.devices) CHECK(device.in_flight_peak == static_cast<std::int64_t>(2 * p + 1));
    }
  }
}

TEST_CASE("dualpipe-v: fewer microbatches than two for each device are refused") {
  CHECK(refusal_of(fixed_plan({"dualpipe-v", {}}, 3, 5)) ==
        "dualpipe-v on 3 devices needs at least 6 microbatches, but the plan has 5");
}

}  // namespace
}  // namespace stagecraft
