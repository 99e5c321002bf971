#include "sim/analytic/evaluate_plan.hpp"
#include "tests/schedule/compiled.hpp"
#include "tests/schedule/fixed_plans.hpp"
#include "tests/schedule/orders_text.hpp"

#include <doctest/doctest.h>

namespace stagecraft {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace): the builders of this room

TEST_CASE("v-min: the orders of two devices") {
  const Schedule schedule = compiled(fixed_plan({"v-min", {}}, 2, 2)).orders({0, 2});
  CHECK(order_text(schedule.devices[0]) == "F0.0 F0.1 F3.0 I3.0 W3.0 I0.0 W0.0 F3.1 I3.1 W3.1 I0.1 W0.1");
}

TEST_CASE("v-min: it holds less than v-half, and takes more time") {
  for (const std::size_t p : {4U, 6U, 8U, 12U}) {
    CAPTURE(p);
    const auto report_of = [&](const char* name) {
      return evaluate_plan(chain(2 * p, 1, 2), pairwise(p),
                           fixed_plan({name, {}}, p, static_cast<std::int64_t>(4 * p)));
    };
    const auto most_of = [](const Report& report) {
      std::int64_t most = 0;
      for (const auto& device : report.devices) most = std::max(most, device.in_flight_peak);
      return most;
    };
    const Report half = report_of("v-half");
    const Report min = report_of("v-min");
    CHECK(most_of(min) < most_of(half));
    CHECK(min.iterations.back() > half.iterations.back());
  }
}

}  // namespace
}  // namespace stagecraft
