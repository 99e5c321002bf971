#include "sim/analytic/evaluate_plan.hpp"
#include "tests/schedule/compiled.hpp"
#include "tests/schedule/fixed_plans.hpp"
#include "tests/schedule/orders_text.hpp"

#include <doctest/doctest.h>

namespace stagecraft {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace): the builders of this room

TEST_CASE("zb-v: the orders of two devices") {
  const Schedule schedule = compiled(fixed_plan({"zb-v", {}}, 2, 3)).orders({0, 3});
  CHECK(order_text(schedule.devices[0]) ==
        "F0.0 F0.1 F0.2 F3.0 I3.0 W3.0 F3.1 I3.1 W3.1 I0.0 W0.0 F3.2 I3.2 W3.2 I0.1 W0.1 I0.2 W0.2");
  CHECK(order_text(schedule.devices[1]) ==
        "F1.0 F2.0 F1.1 F2.1 I2.0 W2.0 F1.2 I1.0 W1.0 F2.2 I2.1 W2.1 I1.1 I2.2 I1.2 W1.1 W2.2 W1.2");
}

TEST_CASE("zb-v: fewer microbatches than fill the V leave out those that are missing") {
  const Schedule schedule = compiled(fixed_plan({"zb-v", {}}, 2, 1)).orders({0, 1});
  CHECK(order_text(schedule.devices[0]) == "F0.0 F3.0 I3.0 W3.0 I0.0 W0.0");
  CHECK(order_text(schedule.devices[1]) == "F1.0 F2.0 I2.0 W2.0 I1.0 W1.0");
}

TEST_CASE("zb-v: equal times leave only the bubble of the first forwards, with the memory of 1f1b") {
  for (const std::size_t p : {1U, 2U, 3U, 6U}) {
    for (const std::size_t m : {2 * p, 2 * p + 1, 5 * p}) {
      CAPTURE(p);
      CAPTURE(m);
      const Plan plan = fixed_plan({"zb-v", {}}, p, static_cast<std::int64_t>(m));
      const Report report = evaluate_plan(chain(2 * p, 1, 2), pairwise(p), plan);
      CHECK(report.iterations.back().value() ==
            doctest::Approx(2 * 3 * static_cast<double>(m) + static_cast<double>(p - 1)).epsilon(1e-9));
      CHECK(report.span_bubble_ratio == doctest::Approx(0.0));
      for (const auto& device : report.devices) CHECK(device.in_flight_peak == static_cast<std::int64_t>(2 * p));
    }
  }
}

}  // namespace
}  // namespace stagecraft
