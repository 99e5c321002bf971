#include "sim/analytic/evaluate_plan.hpp"
#include "tests/schedule/compiled.hpp"
#include "tests/schedule/fixed_plans.hpp"
#include "tests/schedule/orders_text.hpp"

#include <doctest/doctest.h>

namespace stagecraft {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace): the builders of this room

TEST_CASE("v-half: the orders of two devices") {
  const Schedule schedule = compiled(fixed_plan({"v-half", {}}, 2, 2)).orders({0, 2});
  CHECK(order_text(schedule.devices[0]) == "F0.0 F0.1 F3.0 I3.0 W3.0 F3.1 I0.0 I3.1 W3.1 W0.0 I0.1 W0.1");
}

TEST_CASE("v-half: half the memory of 1f1b and a stage's part more, and no more time than the work and a bubble") {
  for (const std::size_t p : {2U, 4U, 6U, 8U}) {
    const auto m = static_cast<std::int64_t>(4 * p);
    CAPTURE(p);
    const Report report = evaluate_plan(chain(2 * p, 1, 2), pairwise(p), fixed_plan({"v-half", {}}, p, m));
    std::int64_t most = 0;
    for (const auto& device : report.devices) most = std::max(most, device.in_flight_peak);
    CHECK(most == static_cast<std::int64_t>(p + 2));
    const double work = 6.0 * static_cast<double>(m);
    CHECK(report.iterations.back().value() >= work);
    CHECK(report.iterations.back().value() <= work + 3.0 * static_cast<double>(p));
  }
}

}  // namespace
}  // namespace stagecraft
