#include "sim/analytic/evaluate_plan.hpp"
#include "tests/schedule/compiled.hpp"
#include "tests/schedule/fixed_plans.hpp"
#include "tests/schedule/orders_text.hpp"

#include <doctest/doctest.h>

namespace stagecraft {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace): the builders of this room

TEST_CASE("1f1b-v: the orders of two devices") {
  const Schedule schedule = compiled(fixed_plan({"1f1b-v", {}}, 2, 3)).orders({0, 3});
  CHECK(order_text(schedule.devices[0]) == "F0.0 F0.1 F0.2 F3.0 B3.0 F3.1 B3.1 B0.0 F3.2 B3.2 B0.1 B0.2");
  CHECK(order_text(schedule.devices[1]) == "F1.0 F2.0 F1.1 F2.1 B2.0 B1.0 F1.2 F2.2 B2.1 B1.1 B2.2 B1.2");
}

TEST_CASE("1f1b-v: every block of six slots is full, and about two thirds of the memory of 1f1b is in use") {
  for (const std::size_t p : {1U, 2U, 3U, 4U, 6U, 7U, 8U}) {
    CAPTURE(p);
    const auto time = [&](std::size_t m) {
      const Plan plan = fixed_plan({"1f1b-v", {}}, p, static_cast<std::int64_t>(m));
      const Report report = evaluate_plan(chain(2 * p, 1, 2), pairwise(p), plan);
      for (const auto& device : report.devices) {
        CHECK(device.in_flight_peak == static_cast<std::int64_t>(2 * (2 * p / 3) + 2));
      }
      return report.iterations.back().value();
    };
    // Each further microbatch takes six slots.
    CHECK(time(5 * p) - time(4 * p) == doctest::Approx(6 * static_cast<double>(p)).epsilon(1e-9));
  }
}

}  // namespace
}  // namespace stagecraft
