#include "sim/analytic/evaluate_plan.hpp"
#include "tests/schedule/compiled.hpp"
#include "tests/schedule/fixed_plans.hpp"
#include "tests/schedule/orders_text.hpp"

#include <doctest/doctest.h>

namespace stagecraft {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace): the builders of this room

TEST_CASE("chimera: the orders of two devices, in which both directions take turns") {
  const Schedule schedule = compiled(fixed_plan({"chimera", {}}, 2, 4)).orders({0, 4});
  CHECK(order_text(schedule.devices[0]) == "F0.0 F3.1 B3.1 B0.0 F0.2 F3.3 B3.3 B0.2");
  CHECK(order_text(schedule.devices[1]) == "F2.1 F1.0 B1.0 B2.1 F2.3 F1.2 B1.2 B2.3");
}

// f = 1 and B = 2; a unit is half as many microbatches of each direction as there are devices.
TEST_CASE("chimera: equal times take m t + (m / p + 1) (p - 2) f") {
  for (const std::size_t p : {4U, 6U, 8U, 12U}) {
    for (const std::size_t units : {1U, 2U, 5U}) {
      CAPTURE(p);
      CAPTURE(units);
      const Plan plan = fixed_plan({"chimera", {}}, p, static_cast<std::int64_t>(units * p));
      const Report report = evaluate_plan(chain(p, 1, 2), pairwise(p), plan);
      CHECK(report.iterations.back().value() ==
            doctest::Approx(3.0 * static_cast<double>(units * p) + static_cast<double>((units + 1) * (p - 2))));
      for (std::size_t i = 0; i < p; ++i) {
        CHECK(report.devices[i].in_flight_peak == static_cast<std::int64_t>(p / 2 + 1 + std::min(i, p - 1 - i)));
      }
    }
  }
}

TEST_CASE("chimera: an odd number of microbatches is refused") {
  CHECK(refusal_of(fixed_plan({"chimera", {}}, 4, 7)) ==
        "chimera on 4 devices needs an even number of microbatches, but the plan has 7");
}

}  // namespace
}  // namespace stagecraft
